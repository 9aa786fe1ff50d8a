import { Text } from '@mantine/core'
import { Route, Switch } from 'wouter'
import { count } from '../../format.ts'
import { PageHead } from '../../parts/page/PageHead.tsx'
import { PageLink } from '../../parts/page/PageLink.tsx'
import { QueryResult } from '../../parts/QueryResult.tsx'
import { linkColumn, longTextColumn, textColumn } from '../../parts/table/columns.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { Table } from '../../parts/table/Table.tsx'
import { text } from '../../text/text.ts'
import { PluginDetail } from './PluginDetail.tsx'
import { type Plugin, usePlugins } from './queries.ts'

const columns: readonly Column<Plugin>[] = [
  linkColumn('name', text.pluginsPage.name, ({ name }) => [name, `/plugins/${name}`], { width: 8 }),
  textColumn('version', text.pluginsPage.version, { width: 4 }),
  { id: 'from', title: text.pluginsPage.from, value: ({ from }) => text.pluginsPage.origins[from], width: 5 },
  {
    id: 'adds',
    title: text.pluginsPage.adds,
    value: ({ routes, settings }) => text.pluginsPage.parts(count(routes.length), count(settings.length)),
    width: 11,
    wide: true
  },
  longTextColumn('may', text.pluginsPage.may, ({ may }) => may.join(', '), { width: 18, wide: true })
]

export default function Plugins() {
  const plugins = usePlugins()
  return (
    <QueryResult query={plugins}>
      {all => (
        <Switch>
          <Route path="/plugins/:name">
            {({ name }) => {
              const plugin = all.find(one => one.name === name)
              return plugin ? <PluginDetail plugin={plugin} /> : <Missing />
            }}
          </Route>
          <Route>
            <PageHead title={text.pages.plugins} />
            <Table
              name="plugins"
              what={text.pluginsPage.what}
              rows={all}
              columns={columns}
              idOf={({ name }) => name}
              empty={text.pluginsPage.empty}
            />
          </Route>
        </Switch>
      )}
    </QueryResult>
  )
}

const Missing = () => (
  <>
    <PageHead title={text.pages.plugins} />
    <Text mb="md">{text.pluginsPage.none}</Text>
    <PageLink to="/plugins" size="md">
      {text.pages.plugins}
    </PageLink>
  </>
)
