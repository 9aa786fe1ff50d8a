import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link, Route, Switch, useLocation } from 'wouter'
import { type Row, rows } from '../../api/call.ts'
import { Dialog } from '../../parts/Dialog.tsx'
import { EmptyState } from '../../parts/EmptyState.tsx'
import { PageHead } from '../../parts/PageHead.tsx'
import { countColumn, linkColumn, timeColumn } from '../../parts/table/columns.tsx'
import { QueryTable } from '../../parts/table/QueryTable.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { text } from '../../text/text.ts'
import { NewSourceList } from './NewSourceList.tsx'
import { SourceListDetail } from './SourceListDetail.tsx'

type List = Row<'GET /v1/source-lists'>

const columns: readonly Column<List>[] = [
  linkColumn(
    'name',
    text.sources.name,
    ({ name }) => `@${name}`,
    ({ name }) => `/sources/${name}`
  ),
  countColumn('entries', text.sources.count, ({ entry_count }) => entry_count, { width: 6 }),
  countColumn('rules', text.pages.rules, ({ rule_count }) => rule_count, { width: 6 }),
  timeColumn('updated', text.sources.updated, ({ updated_at }) => updated_at, { format: 'ago', wide: true })
]

export default function Sources() {
  return (
    <Switch>
      <Route path="/sources/:name">
        {({ name }) => (name === 'new' ? <Lists /> : <SourceListDetail key={name} name={name} />)}
      </Route>
      <Route>
        <Lists />
      </Route>
    </Switch>
  )
}

function Lists() {
  const lists = useQuery({ queryKey: ['source-lists'], queryFn: () => rows('GET /v1/source-lists') })
  const [path, go] = useLocation()
  const add = (
    <Button component={Link} href="/sources/new">
      {text.sources.add}
    </Button>
  )
  return (
    <>
      <PageHead title={text.pages.sources}>{add}</PageHead>
      <QueryTable
        query={lists}
        name="sources"
        what={text.sources.what}
        columns={columns}
        idOf={({ name }) => name}
        empty={<EmptyState what={text.sources.empty}>{add}</EmptyState>}
      />
      <Dialog isOpen={path === '/sources/new'} onClose={() => go('/sources')} title={text.sources.add}>
        <NewSourceList onDone={name => go(`/sources/${name}`)} />
      </Dialog>
    </>
  )
}
