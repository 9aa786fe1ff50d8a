import { Text } from '@mantine/core'
import type { Row } from '../../api/call.ts'
import { labelText } from '../../parts/form/labels.ts'
import { linkColumn, longTextColumn, textColumn } from '../../parts/table/columns.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { text } from '../../text/text.ts'
import { useClientsById } from '../clients/queries.ts'

export type Grant = Row<'GET /v1/grants'>

const portsOf = ({ listen_port_start: first, listen_port_end: last }: Grant): string =>
  first === last ? String(first ?? text.grants.exit) : `${first}–${last}`

const clientOf = ({ client_name }: Grant): string => client_name ?? text.grants.everyClient
export const nameOf = (grant: Grant): string =>
  grant.use === 'exit'
    ? `${clientOf(grant)}, ${text.grants.exit}`
    : text.grants.name(clientOf(grant), portsOf(grant))

const targetsOf = ({ targets }: Grant): string => targets?.join(', ') ?? text.grants.anyTarget

/** The ports of a listen grant. An exit grant has the clients whose rules may use it. */
function Ports({ grant }: { readonly grant: Grant }) {
  const clients = useClientsById()
  if (grant.use === 'listen') return portsOf(grant)
  const entries = grant.entries?.map(id => clients.get(id)?.client_name ?? id).join(', ')
  return (
    <>
      {portsOf(grant)}
      <Text size="xs" c="dimmed">
        {`${text.grants.entries}: ${entries ?? text.grants.everyClient}`}
      </Text>
    </>
  )
}

export const grantColumns: readonly Column<Grant>[] = [
  linkColumn(
    'client',
    text.grants.client,
    grant => [clientOf(grant), grant.client_name && `/clients/${grant.client_id}`],
    { width: 8 }
  ),
  {
    id: 'ports',
    title: text.grants.ports,
    value: portsOf,
    cell: grant => <Ports grant={grant} />,
    width: 7
  },
  {
    id: 'protocols',
    title: text.grants.protocols,
    value: ({ protocols }) => protocols.join(', '),
    width: 6
  },
  longTextColumn('targets', text.grants.targets, targetsOf, {}),
  textColumn('note', text.grants.note, { width: 8 }),
  { id: 'labels', title: text.labels.title, value: ({ labels }) => labelText(labels), width: 8 }
]
