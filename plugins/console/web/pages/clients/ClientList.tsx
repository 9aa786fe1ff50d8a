import { Group, NativeSelect } from '@mantine/core'
import { useRight } from '../../api/rights.ts'
import { EmptyState } from '../../parts/EmptyState.tsx'
import { ListPage } from '../../parts/page/ListPage.tsx'
import { QueryResult } from '../../parts/QueryResult.tsx'
import { StateLabel } from '../../parts/StateLabel.tsx'
import { Timestamp } from '../../parts/Timestamp.tsx'
import { linkColumn, textColumn } from '../../parts/table/columns.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { Table } from '../../parts/table/Table.tsx'
import { useUrlFilter } from '../../parts/use-url-filter.ts'
import { text } from '../../text/text.ts'
import { AddClient } from './AddClient.tsx'
import { EnrollmentKeys } from './EnrollmentKeys.tsx'
import { PendingEnrollments } from './PendingEnrollments.tsx'
import { type Client, useClients } from './queries.ts'

const labelsIn = ({ labels }: Client): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(' ')

const shownState = ({ state, instance_conflict }: Client) => (instance_conflict === null ? state : 'conflict')

const columns: readonly Column<Client>[] = [
  linkColumn('name', text.clients.name, client => [client.client_name, `/clients/${client.client_id}`], {
    width: 8
  }),
  {
    id: 'state',
    title: text.clients.state,
    value: client => text.states[shownState(client)],
    cell: client => <StateLabel state={shownState(client)} />,
    width: 8
  },
  textColumn('address', text.clients.address, { width: 9.5 }),
  textColumn('remote_addr', text.clients.from, { width: 8 }),
  { id: 'labels', title: text.fields['labels'] ?? '', value: labelsIn, width: 6 },
  textColumn('agent_version', text.clients.version, { width: 5 }),
  {
    id: 'seen',
    title: text.clients.seen,
    value: ({ last_seen_at }) => (last_seen_at === null ? 0 : Date.parse(last_seen_at)),
    cell: ({ last_seen_at: at, connected }) =>
      connected ? text.clients.now : at !== null && <Timestamp at={at} format="ago" />,
    width: 8
  }
]

const states = ['connected', 'disconnected', 'pending', 'revoked'] as const
const idOf = ({ client_id }: Client): string => client_id

/** /clients?state=disconnected */
export function ClientList() {
  const clients = useClients()
  const { filter, set } = useUrlFilter(['state'])
  const seesAll = useRight('seesAll')
  const mayAdd = useRight('managesAll')
  const emptyText = seesAll ? text.clients.empty : text.overview.noneGranted
  return (
    <ListPage
      path="/clients"
      title={text.pages.clients}
      addLabel={text.clients.add}
      mayAdd={mayAdd}
      form={() => <AddClient />}
      formSize="lg"
    >
      {addButton => (
        <>
          <QueryResult query={clients}>
            {rows => (
              <>
                {rows.length > 0 && (
                  <StateInput value={filter.state} onChange={state => set('state', state)} />
                )}
                <Table
                  name="clients"
                  what={text.clients.what}
                  rows={rows.filter(({ state }) => filter.state === '' || state === filter.state)}
                  columns={columns}
                  idOf={idOf}
                  empty={
                    filter.state === '' ? (
                      <EmptyState what={emptyText}>{addButton}</EmptyState>
                    ) : (
                      text.table.none
                    )
                  }
                />
              </>
            )}
          </QueryResult>
          {seesAll && <PendingEnrollments />}
          {seesAll && <EnrollmentKeys />}
        </>
      )}
    </ListPage>
  )
}

interface StateProps {
  readonly value: string
  readonly onChange: (state: string) => void
}

const StateInput = ({ value, onChange }: StateProps) => (
  <Group mb="sm" className="tools">
    <NativeSelect
      aria-label={text.clients.state}
      value={value}
      onChange={event => onChange(event.currentTarget.value)}
      data={[
        { value: '', label: text.rules.anyState },
        ...states.map(state => ({ value: state, label: text.states[state] }))
      ]}
    />
  </Group>
)
