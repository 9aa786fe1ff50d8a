import { Anchor, Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link, Route, Switch, useLocation } from 'wouter'
import { type Row, rows } from '../../api/call.ts'
import { count } from '../../format.ts'
import { Dialog } from '../../parts/Dialog.tsx'
import { Empty } from '../../parts/EmptyState.tsx'
import { Head } from '../../parts/PageHead.tsx'
import { Loaded } from '../../parts/QueryResult.tsx'
import { When } from '../../parts/Timestamp.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { Table } from '../../parts/table/Table.tsx'
import { text } from '../../text/text.ts'
import { NewList } from './NewSourceList.tsx'
import { Detail } from './SourceListDetail.tsx'

type List = Row<'GET /v1/source-lists'>

const columns: readonly Column<List>[] = [
  {
    id: 'name',
    title: text.sources.name,
    value: ({ name }) => name,
    cell: ({ name }) => (
      <Anchor component={Link} href={`/sources/${name}`} size="sm">
        @{name}
      </Anchor>
    )
  },
  {
    id: 'entries',
    title: text.sources.count,
    value: ({ entry_count }) => entry_count,
    cell: ({ entry_count }) => count(entry_count),
    width: 6,
    numeric: true
  },
  {
    id: 'rules',
    title: text.pages.rules,
    value: ({ rule_count }) => rule_count,
    cell: ({ rule_count }) => count(rule_count),
    width: 6,
    numeric: true
  },
  {
    id: 'updated',
    title: text.sources.updated,
    value: ({ updated_at }) => Date.parse(updated_at),
    cell: ({ updated_at }) => <When at={updated_at} form="ago" />,
    wide: true
  }
]

export default function Sources() {
  return (
    <Switch>
      <Route path="/sources/:name">
        {({ name }) => (name === 'new' ? <Lists /> : <Detail key={name} name={name} />)}
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
      <Head title={text.pages.sources}>{add}</Head>
      <Loaded query={lists}>
        {all => (
          <Table
            name="sources"
            what={text.sources.what}
            rows={all}
            columns={columns}
            idOf={({ name }) => name}
            empty={<Empty what={text.sources.empty}>{add}</Empty>}
          />
        )}
      </Loaded>
      <Dialog isOpen={path === '/sources/new'} onClose={() => go('/sources')} title={text.sources.add}>
        <NewList onDone={name => go(`/sources/${name}`)} />
      </Dialog>
    </>
  )
}
