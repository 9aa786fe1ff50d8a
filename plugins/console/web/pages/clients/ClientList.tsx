import { Button, Group, NativeSelect } from '@mantine/core'
import { Link, useLocation, useSearchParams } from 'wouter'
import { useMe } from '../../api/me.ts'
import { Dialog } from '../../parts/Dialog.tsx'
import { EmptyState } from '../../parts/EmptyState.tsx'
import { PageHead } from '../../parts/PageHead.tsx'
import { QueryResult } from '../../parts/QueryResult.tsx'
import { StateLabel } from '../../parts/StateLabel.tsx'
import { Timestamp } from '../../parts/Timestamp.tsx'
import { linkColumn } from '../../parts/table/columns.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { Table } from '../../parts/table/Table.tsx'
import { text } from '../../text/text.ts'
import { AddClient } from './AddClient.tsx'
import { PendingEnrollments } from './PendingEnrollments.tsx'
import { type Client, useClients } from './queries.ts'

const labelsIn = ({ labels }: Client): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(' ')

const columns: readonly Column<Client>[] = [
  linkColumn(
    'name',
    text.clients.name,
    ({ client_name }) => client_name,
    ({ client_id }) => `/clients/${client_id}`,
    { width: 8 }
  ),
  {
    id: 'state',
    title: text.clients.state,
    value: ({ state }) => text.states[state],
    cell: ({ state }) => <StateLabel state={state} />,
    width: 8
  },
  {
    id: 'address',
    title: text.clients.address,
    value: ({ address }) => address ?? '',
    width: 9.5,
    wide: true
  },
  {
    id: 'from',
    title: text.clients.from,
    value: ({ remote_addr }) => remote_addr ?? '',
    width: 8,
    wide: true
  },
  { id: 'labels', title: text.fields['labels'] ?? '', value: labelsIn, width: 6, wide: true },
  {
    id: 'version',
    title: text.clients.version,
    value: ({ agent_version }) => agent_version ?? '',
    width: 5,
    wide: true
  },
  {
    id: 'seen',
    title: text.clients.seen,
    value: ({ last_seen_at }) => (last_seen_at === null ? 0 : Date.parse(last_seen_at)),
    cell: ({ last_seen_at: at, connected }) =>
      connected ? text.clients.now : at !== null && <Timestamp at={at} format="ago" />,
    width: 8,
    wide: true
  }
]

const states = ['connected', 'disconnected', 'revoked'] as const
const idOf = ({ client_id }: Client): string => client_id

/** /clients?state=disconnected */
export function ClientList() {
  const clients = useClients()
  const [path, go] = useLocation()
  const [params, setParams] = useSearchParams()
  const state = params.get('state') ?? ''
  const mayAdd = useMe().data?.role === 'superadmin'
  const add = mayAdd && (
    <Button component={Link} href="/clients/new">
      {text.clients.add}
    </Button>
  )
  return (
    <>
      <PageHead title={text.pages.clients}>{add}</PageHead>
      <QueryResult query={clients}>
        {rows => (
          <>
            {rows.length > 0 && (
              <StateInput value={state} onChange={next => setParams(next, { replace: true })} />
            )}
            <Table
              name="clients"
              what={text.clients.what}
              rows={state === '' ? rows : rows.filter(client => client.state === state)}
              columns={columns}
              idOf={idOf}
              empty={
                state !== '' ? (
                  <EmptyState what={text.table.none} />
                ) : (
                  <EmptyState what={mayAdd ? text.clients.empty : text.overview.noneGranted}>
                    {add}
                  </EmptyState>
                )
              }
            />
          </>
        )}
      </QueryResult>
      {mayAdd && <PendingEnrollments />}
      <Dialog
        isOpen={mayAdd && path === '/clients/new'}
        onClose={() => go('/clients')}
        title={text.clients.add}
        size="lg"
      >
        <AddClient />
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
      aria-label={text.clients.state}
      value={value}
      onChange={({ currentTarget: { value: state } }) => onChange(state === '' ? {} : { state })}
      data={[
        { value: '', label: text.rules.anyState },
        ...states.map(state => ({ value: state, label: text.states[state] }))
      ]}
    />
  </Group>
)
