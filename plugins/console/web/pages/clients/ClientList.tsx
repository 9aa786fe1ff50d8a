import { Anchor, Button, Group, NativeSelect } from '@mantine/core'
import { Link, useLocation, useSearchParams } from 'wouter'
import { useMe } from '../../api/me.ts'
import { Dialog } from '../../parts/Dialog.tsx'
import { Empty } from '../../parts/EmptyState.tsx'
import { Head } from '../../parts/PageHead.tsx'
import { Loaded } from '../../parts/QueryResult.tsx'
import { State } from '../../parts/StateLabel.tsx'
import { When } from '../../parts/Timestamp.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { Table } from '../../parts/table/Table.tsx'
import { text } from '../../text/text.ts'
import { AddEdge } from './AddClient.tsx'
import { Codes } from './PendingEnrollments.tsx'
import { type Edge, useEdges } from './queries.ts'

const columns = (): readonly Column<Edge>[] => [
  {
    id: 'name',
    title: text.edges.name,
    value: ({ client_name }) => client_name,
    cell: ({ client_id, client_name }) => (
      <Anchor component={Link} href={`/edges/${client_id}`} size="sm">
        {client_name}
      </Anchor>
    ),
    width: 8
  },
  {
    id: 'state',
    title: text.edges.state,
    value: ({ state }) => text.states[state],
    cell: ({ state }) => <State of={state} />,
    width: 8
  },
  { id: 'address', title: text.edges.address, value: ({ address }) => address ?? '', width: 9.5, wide: true },
  { id: 'from', title: text.edges.from, value: ({ remote_addr }) => remote_addr ?? '', width: 8, wide: true },
  {
    id: 'labels',
    title: text.fields['labels'] ?? '',
    value: ({ labels }) =>
      Object.entries(labels)
        .map(([key, value]) => `${key}=${value}`)
        .join(' '),
    width: 6,
    wide: true
  },
  {
    id: 'version',
    title: text.edges.version,
    value: ({ agent_version }) => agent_version ?? '',
    width: 5,
    wide: true
  },
  {
    id: 'seen',
    title: text.edges.seen,
    value: ({ last_seen_at }) => (last_seen_at === null ? 0 : Date.parse(last_seen_at)),
    cell: ({ last_seen_at: at, connected }) =>
      connected ? text.edges.now : at !== null && <When at={at} form="ago" />,
    width: 8,
    wide: true
  }
]

const states = ['connected', 'disconnected', 'revoked'] as const
const idOf = ({ client_id }: Edge): string => client_id

/** /edges?state=disconnected */
export function List() {
  const edges = useEdges()
  const [path, go] = useLocation()
  const [params, setParams] = useSearchParams()
  const state = params.get('state') ?? ''
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
          <>
            {rows.length > 0 && (
              <StateInput value={state} onChange={next => setParams(next, { replace: true })} />
            )}
            <Table
              name="edges"
              what={text.edges.what}
              rows={state === '' ? rows : rows.filter(edge => edge.state === state)}
              columns={columns()}
              idOf={idOf}
              empty={
                state !== '' ? (
                  <Empty what={text.table.none} />
                ) : (
                  <Empty what={mayAdd ? text.edges.empty : text.overview.noneGranted}>{add}</Empty>
                )
              }
            />
          </>
        )}
      </Loaded>
      {mayAdd && <Codes />}
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

interface StateProps {
  readonly value: string
  readonly onChange: (params: Record<string, string>) => void
}

const StateInput = ({ value, onChange }: StateProps) => (
  <Group mb="sm" className="tools">
    <NativeSelect
      aria-label={text.edges.state}
      value={value}
      onChange={({ currentTarget: { value: state } }) => onChange(state === '' ? {} : { state })}
      data={[
        { value: '', label: text.rules.anyState },
        ...states.map(state => ({ value: state, label: text.states[state] }))
      ]}
    />
  </Group>
)
