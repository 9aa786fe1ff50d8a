import { Anchor, Button } from '@mantine/core'
import { Link, Route, Switch, useLocation } from 'wouter'
import { useMe } from '../../api/me.ts'
import { ago, time } from '../../format.ts'
import { Dialog } from '../../parts/Dialog.tsx'
import { Empty } from '../../parts/Empty.tsx'
import { Head } from '../../parts/Head.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { State } from '../../parts/State.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { Table } from '../../parts/table/Table.tsx'
import { text } from '../../text/text.ts'
import { AddEdge } from './AddEdge.tsx'
import { Detail } from './Detail.tsx'
import { type Edge, useEdges } from './queries.ts'

const columns: readonly Column<Edge>[] = [
  {
    id: 'name',
    title: text.edges.name,
    value: ({ client_name }) => client_name,
    cell: ({ client_id, client_name }) => (
      <Anchor component={Link} href={`/edges/${client_id}`} size="sm">
        {client_name}
      </Anchor>
    )
  },
  {
    id: 'state',
    title: text.edges.state,
    value: ({ state }) => text.states[state],
    cell: ({ state }) => <State of={state} />,
    width: 8
  },
  { id: 'address', title: text.edges.address, value: ({ address }) => address ?? '', wide: true },
  { id: 'from', title: text.edges.from, value: ({ remote_addr }) => remote_addr ?? '', wide: true },
  {
    id: 'version',
    title: text.edges.version,
    value: ({ agent_version }) => agent_version ?? '',
    width: 6,
    wide: true
  },
  {
    id: 'seen',
    title: text.edges.seen,
    value: ({ last_seen_at }) => (last_seen_at === null ? 0 : Date.parse(last_seen_at)),
    cell: ({ last_seen_at: at }) => at !== null && <span title={time(at)}>{ago(at)}</span>,
    width: 7,
    wide: true
  }
]

export default function Edges() {
  return (
    <Switch>
      <Route path="/edges/:id">{({ id }) => (id === 'new' ? <List /> : <Detail id={id} />)}</Route>
      <Route>
        <List />
      </Route>
    </Switch>
  )
}

function List() {
  const edges = useEdges()
  const [path, go] = useLocation()
  const mayAdd = useMe().data?.role === 'superadmin'
  const add = mayAdd && (
    <Button component={Link} href="/edges/new">
      {text.edges.add}
    </Button>
  )
  return (
    <>
      <Head title={text.pages.edges}>{add}</Head>
      <Loaded query={edges}>
        {rows => (
          <Table
            name="edges"
            what={text.edges.what}
            rows={rows}
            columns={columns}
            idOf={({ client_id }) => client_id}
            empty={<Empty what={mayAdd ? text.edges.empty : text.overview.noneGranted}>{add}</Empty>}
          />
        )}
      </Loaded>
      <Dialog
        isOpen={mayAdd && path === '/edges/new'}
        onClose={() => go('/edges')}
        title={text.edges.add}
        size="lg"
      >
        <AddEdge />
      </Dialog>
    </>
  )
}
