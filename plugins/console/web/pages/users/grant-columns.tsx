import { Anchor } from '@mantine/core'
import { Link } from 'wouter'
import type { Row } from '../../api/call.ts'
import { labelText } from '../../parts/form/labels.ts'
import type { Column } from '../../parts/table/rows.ts'
import { text } from '../../text/text.ts'

export type Grant = Row<'GET /v1/grants'>

const portsOf = ({ listen_port_start: first, listen_port_end: last }: Grant): string =>
  first === last ? String(first) : `${first}–${last}`

const clientOf = ({ client_name }: Grant): string => client_name ?? text.grants.everyClient
export const nameOf = (grant: Grant): string => text.grants.name(clientOf(grant), portsOf(grant))

const targetsOf = ({ targets }: Grant): string => targets?.join(', ') ?? text.grants.anyTarget

export const grantColumns: readonly Column<Grant>[] = [
  {
    id: 'client',
    title: text.grants.client,
    value: clientOf,
    cell: grant =>
      grant.client_name === null ? (
        clientOf(grant)
      ) : (
        <Anchor component={Link} href={`/clients/${grant.client_id}`} size="sm">
          {grant.client_name}
        </Anchor>
      ),
    width: 8
  },
  { id: 'ports', title: text.grants.ports, value: portsOf, width: 7 },
  {
    id: 'protocols',
    title: text.grants.protocols,
    value: ({ protocols }) => protocols.join(', '),
    width: 6,
    wide: true
  },
  {
    id: 'targets',
    title: text.grants.targets,
    value: targetsOf,
    cell: grant => <span title={targetsOf(grant)}>{targetsOf(grant)}</span>,
    wide: true
  },
  { id: 'note', title: text.grants.note, value: ({ note }) => note ?? '', width: 8, wide: true },
  {
    id: 'labels',
    title: text.labels.title,
    value: ({ labels }) => labelText(labels),
    width: 8,
    wide: true
  }
]
