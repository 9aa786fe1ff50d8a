import { rate } from '../../format.ts'
import { StateLabel } from '../../parts/StateLabel.tsx'
import { linkColumn, longTextColumn, textColumn, timeColumn } from '../../parts/table/columns.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { text } from '../../text/text.ts'
import type { ClientsById } from '../clients/queries.ts'
import { portsOf, type Rule, targetsOf } from './queries.ts'
import { healthOf, isRuleOffline, shownStateOf, worstHealthOf } from './shown-state.ts'
import type { RuleRates } from './use-rule-rates.ts'

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

/** In and out together; '–' for rules without traffic. */
const rateColumn = (rates: RuleRates): Column<Rule> => ({
  id: 'rate',
  title: text.rules.rate,
  value: ({ rule_id }) => rates.get(rule_id) ?? 0,
  cell: ({ rule_id }) => {
    const now = rates.get(rule_id) ?? 0
    return now === 0 ? '–' : rate(now)
  },
  numeric: true,
  width: 6
})

export const ruleColumns = (clients: ClientsById, rates: RuleRates | null): readonly Column<Rule>[] => [
  linkColumn('port', text.rules.rule, rule => [labelOf(rule), `/rules/${rule.rule_id}`], { width: 8 }),
  linkColumn(
    'client',
    text.rules.client,
    rule => [clientOf(rule), rule.client_id && `/clients/${rule.client_id}`],
    { width: 6 }
  ),
  { id: 'targets', title: text.rules.targets, value: targetsOf, width: 10 },
  {
    id: 'health',
    title: text.ruleDetail.health,
    value: rule => text.states[worstHealthOf(rule, clients)],
    cell: rule => <Health rule={rule} clients={clients} />,
    width: 7
  },
  ...(rates === null ? [] : [rateColumn(rates)]),
  {
    id: 'state',
    title: text.rules.state,
    value: rule => text.states[shownStateOf(rule, clients)],
    cell: rule => <StateLabel state={shownStateOf(rule, clients)} title={reasonOf(rule, clients)} />,
    width: 8
  },
  longTextColumn('reason', text.rules.reason, rule => reasonOf(rule, clients), {
    width: 7,
    extra: true
  }),
  {
    id: 'name',
    title: text.fields['sni_pattern'] ?? '',
    value: rule => rule.sni_pattern ?? '',
    extra: true,
    width: 8
  },
  { id: 'labels', title: text.fields['labels'] ?? '', value: labelsOf, width: 6 },
  textColumn('owner', text.rules.owner, { width: 6, extra: true }),
  timeColumn('created_at', text.rules.created, { format: 'ago', width: 7, extra: true })
]
