import { StateLabel } from '../../parts/StateLabel.tsx'
import { linkColumn, longTextColumn, textColumn, timeColumn } from '../../parts/table/columns.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { text } from '../../text/text.ts'
import type { ClientsById } from '../clients/queries.ts'
import { portsOf, type Rule, targetsOf } from './queries.ts'
import { healthOf, isRuleOffline, shownStateOf, worstHealthOf } from './shown-state.ts'

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

/** 'web 8443/tcp', '8443/tcp' */
const labelOf = (rule: Rule): string => {
  const port = `${portsOf(rule)}/${rule.protocol}`
  return rule.name == null ? port : `${rule.name} ${port}`
}

/** The state of the targets; with several, how many of them have it. */
function Health({ rule, clients }: { readonly rule: Rule; readonly clients: ClientsById }) {
  const worst = worstHealthOf(rule, clients)
  const isOffline = isRuleOffline(rule, clients)
  const those = rule.targets.filter(target => healthOf(target, isOffline) === worst)
  const reasons = new Set(those.flatMap(({ health: { reason } }) => reason ?? []))
  const why = [...reasons].map(reason => text.reasons[reason] ?? reason).join(', ')
  const all = rule.targets.length
  return (
    <>
      <StateLabel state={worst} title={why} />
      {those.length < all && ` ${those.length}/${all}`}
    </>
  )
}

export const ruleColumns = (clients: ClientsById): readonly Column<Rule>[] => [
  linkColumn('port', text.rules.rule, rule => [labelOf(rule), `/rules/${rule.rule_id}`], { width: 9 }),
  linkColumn(
    'client',
    text.rules.client,
    rule => [clientOf(rule), rule.client_id && `/clients/${rule.client_id}`],
    { width: 6 }
  ),
  { id: 'targets', title: text.rules.targets, value: targetsOf, width: 11, wide: true },
  {
    id: 'health',
    title: text.ruleDetail.health,
    value: rule => text.states[worstHealthOf(rule, clients)],
    cell: rule => <Health rule={rule} clients={clients} />,
    width: 8,
    wide: true
  },
  {
    id: 'state',
    title: text.rules.state,
    value: rule => text.states[shownStateOf(rule, clients)],
    cell: rule => <StateLabel state={shownStateOf(rule, clients)} title={reasonOf(rule, clients)} />,
    width: 8
  },
  longTextColumn('reason', text.rules.reason, rule => reasonOf(rule, clients), {
    width: 7,
    wide: true,
    extra: true
  }),
  {
    id: 'name',
    title: text.fields['sni_pattern'] ?? '',
    value: rule => rule.sni_pattern ?? '',
    wide: true,
    extra: true,
    width: 8
  },
  { id: 'labels', title: text.fields['labels'] ?? '', value: labelsOf, width: 7, wide: true },
  textColumn('owner', text.rules.owner, { width: 6, wide: true, extra: true }),
  timeColumn('created_at', text.rules.created, { format: 'ago', width: 7, wide: true, extra: true })
]
