import { Anchor } from '@mantine/core'
import { Link } from 'wouter'
import { ago, time } from '../../format.ts'
import { State } from '../../parts/State.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { text } from '../../text/text.ts'
import { portsOf, type Rule, targetsOf } from './queries.ts'

export const columns: readonly Column<Rule>[] = [
  {
    id: 'port',
    title: text.rules.port,
    value: rule => `${portsOf(rule)}/${rule.protocol}`,
    width: 9
  },
  {
    id: 'edge',
    title: text.rules.edge,
    value: ({ client_name, edges }) => client_name ?? text.rules.several(String(edges?.length ?? 0)),
    cell: ({ client_id, client_name, edges }) =>
      client_id === null ? (
        text.rules.several(String(edges?.length ?? 0))
      ) : (
        <Anchor component={Link} href={`/edges/${client_id}`} size="sm">
          {client_name}
        </Anchor>
      )
  },
  { id: 'targets', title: text.rules.targets, value: targetsOf, width: 14, wide: true },
  {
    id: 'state',
    title: text.rules.state,
    value: ({ state }) => text.states[state],
    cell: ({ state, state_reason }) => <State of={state} title={state_reason} />,
    width: 8
  },
  { id: 'reason', title: text.rules.reason, value: ({ state_reason }) => state_reason ?? '', wide: true },
  { id: 'owner', title: text.rules.owner, value: ({ owner }) => owner, width: 7, wide: true },
  {
    id: 'created',
    title: text.rules.created,
    value: ({ created_at }) => Date.parse(created_at),
    cell: ({ created_at }) => <span title={time(created_at)}>{ago(created_at)}</span>,
    width: 7,
    wide: true
  }
]
