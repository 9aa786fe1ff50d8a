import { Text } from '@mantine/core'
import { Route, Switch } from 'wouter'
import { MissingRecord } from '../../parts/page/MissingRecord.tsx'
import { PageHead } from '../../parts/page/PageHead.tsx'
import { QueryResult } from '../../parts/QueryResult.tsx'
import { linkColumn, longTextColumn } from '../../parts/table/columns.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { Table } from '../../parts/table/Table.tsx'
import { text } from '../../text/text.ts'
import { PluginDetail } from './PluginDetail.tsx'
import { aboutPlugin, type Plugin, usePlugins } from './queries.ts'

const columns: readonly Column<Plugin>[] = [
  linkColumn('name', text.pluginsPage.name, ({ name }) => [name, `/plugins/${name}`], { width: 9 }),
  longTextColumn('does', text.pluginsPage.does, aboutPlugin, { width: 30 }),
  { id: 'from', title: text.pluginsPage.from, value: ({ from }) => text.pluginsPage.origins[from], width: 5 },
  {
    id: 'settings',
    title: text.pluginsPage.settings,
    value: ({ settings }) => settings.length || '',
    width: 5,
    numeric: true
  }
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
              return plugin ? <PluginDetail plugin={plugin} all={all} /> : <Missing />
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
            <Text c="dimmed" mt="sm" maw="46rem">
              {text.pluginsPage.disabled('enabled = false')}
            </Text>
          </Route>
        </Switch>
      )}
    </QueryResult>
  )
}

const Missing = () => <MissingRecord title={text.pages.plugins} to="/plugins" what={text.pluginsPage.none} />
