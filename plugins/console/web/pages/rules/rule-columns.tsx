import { Anchor } from '@mantine/core'
import { Link } from 'wouter'
import { StateLabel } from '../../parts/StateLabel.tsx'
import { Timestamp } from '../../parts/Timestamp.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { text } from '../../text/text.ts'
import type { ClientsById } from '../clients/queries.ts'
import { portsOf, type Rule, targetsOf } from './queries.ts'
import { shownStateOf } from './shown-state.ts'

const clientOf = ({ client_name, edges }: Rule): string =>
  client_name ?? text.rules.clientCount(String(edges?.length ?? 0))

const labelsOf = ({ labels }: Rule): string =>
  Object.entries(labels ?? {})
    .map(([key, value]) => `${key}=${value}`)
    .join(' ')

function reasonOf(rule: Rule, clients: ClientsById): string {
  if (shownStateOf(rule, clients) === 'unknown') return text.rules.clientOffline
  const { state, state_reason: reason } = rule
  return reason === null || reason === state ? '' : (text.reasons[reason] ?? reason)
}

export const ruleColumns = (clients: ClientsById): readonly Column<Rule>[] => [
  {
    id: 'port',
    title: text.explain.port,
    value: rule => `${portsOf(rule)}/${rule.protocol}`,
    cell: rule => (
      <Anchor component={Link} href={`/rules/${rule.rule_id}`} size="sm">
        {portsOf(rule)}/{rule.protocol}
      </Anchor>
    ),
    width: 8
  },
  {
    id: 'client',
    title: text.rules.client,
    value: clientOf,
    width: 6,
    cell: rule =>
      rule.client_id === null ? (
        clientOf(rule)
      ) : (
        <Anchor component={Link} href={`/clients/${rule.client_id}`} size="sm">
          {rule.client_name}
        </Anchor>
      )
  },
  { id: 'targets', title: text.rules.targets, value: targetsOf, width: 11, wide: true },
  {
    id: 'state',
    title: text.rules.state,
    value: rule => text.states[shownStateOf(rule, clients)],
    cell: rule => <StateLabel state={shownStateOf(rule, clients)} title={reasonOf(rule, clients)} />,
    width: 8
  },
  {
    id: 'reason',
    title: text.rules.reason,
    value: rule => reasonOf(rule, clients),
    cell: rule => <span title={reasonOf(rule, clients)}>{reasonOf(rule, clients)}</span>,
    width: 7,
    wide: true
  },
  {
    id: 'name',
    title: text.fields['sni_pattern'] ?? '',
    value: rule => rule.sni_pattern ?? '',
    wide: true,
    extra: true,
    width: 8
  },
  { id: 'labels', title: text.fields['labels'] ?? '', value: labelsOf, width: 7, wide: true },
  { id: 'owner', title: text.rules.owner, value: ({ owner }) => owner, width: 6, wide: true },
  {
    id: 'created',
    title: text.rules.created,
    value: ({ created_at }) => Date.parse(created_at),
    cell: ({ created_at }) => <Timestamp at={created_at} format="ago" />,
    width: 7,
    wide: true,
    extra: true
  }
]
