import { Alert, Space, Text } from '@mantine/core'
import { toApiError } from '../../../api/api-error.ts'
import { useRight } from '../../../api/rights.ts'
import { count, rate } from '../../../format.ts'
import { ChartGrid } from '../../../parts/chart/ChartGrid.tsx'
import { MissingRecord } from '../../../parts/page/MissingRecord.tsx'
import { PageHead } from '../../../parts/page/PageHead.tsx'
import { PageLink } from '../../../parts/page/PageLink.tsx'
import { Section } from '../../../parts/page/Section.tsx'
import { QueryResult } from '../../../parts/QueryResult.tsx'
import { StateLabel } from '../../../parts/StateLabel.tsx'
import { text } from '../../../text/text.ts'
import { useClientsById } from '../../clients/queries.ts'
import { LiveConnections } from '../../connections/LiveConnections.tsx'
import { TrafficHistory } from '../../traffic/TrafficHistory.tsx'
import { nameOf, type Rule, useRule } from '../queries.ts'
import { isRuleOffline, shownStateOf } from '../shown-state.ts'
import { ExplainForm } from './ExplainForm.tsx'
import { Journal } from './Journal.tsx'
import { RuleActions } from './RuleActions.tsx'
import { RuleFacts } from './RuleFacts.tsx'
import { Members, Ports, Targets, Totals } from './rule-figures.tsx'
import { useRuleCharts } from './use-rule-charts.ts'
import { useRuleStats } from './use-rule-stats.ts'

export function RuleDetail({ id }: { readonly id: string }) {
  const rule = useRule(id)
  const isGone = rule.isError && ['rule_not_found', 'not_owner'].includes(toApiError(rule.error).code)
  return (
    <>
      <PageLink to="/rules">{text.pages.rules}</PageLink>
      {isGone ? (
        <NotFound />
      ) : (
        <QueryResult query={rule}>{found => <RuleSections rule={found} />}</QueryResult>
      )}
    </>
  )
}

const NotFound = () => <MissingRecord title={text.pages.rules} to="/rules" what={text.ruleDetail.notFound} />

const speedLines = [
  { name: text.overview.in, color: '--line-a' },
  { name: text.overview.out, color: '--line-b' }
]
const openLines = [{ name: text.overview.connections, color: '--line-a' }]

function RuleSections({ rule }: { readonly rule: Rule }) {
  const mayChange = useRight('changesRules')
  const clients = useClientsById()
  const isOffline = isRuleOffline(rule, clients)
  const { stats, speed, connections, isRemoved } = useRuleStats(rule, isOffline)
  const chartsOf = useRuleCharts(rule)
  const state = shownStateOf(rule, clients)
  const open = stats && stats.active_connections + stats.active_flows
  if (isRemoved) return <NotFound />
  return (
    <>
      <PageHead title={nameOf(rule)}>
        <StateLabel state={state} />
        {mayChange && <RuleActions rule={rule} open={open} />}
      </PageHead>
      <StateReason rule={rule} isOffline={isOffline} />
      <StillOpen rule={rule} open={open} />
      <TrafficHistory of={{ rule: rule.rule_id, user: '', client: '' }} chartsOf={chartsOf} />
      <Section title={text.ruleDetail.now}>
        <ChartGrid
          charts={[
            { title: text.ruleDetail.speed, lines: speedLines, points: speed, format: rate },
            { title: text.overview.connections, lines: openLines, points: connections, format: count }
          ]}
        />
      </Section>
      <Space h="xl" />
      <RuleFacts rule={rule} />
      <Section title={text.rules.targets}>
        <Targets rule={rule} stats={stats} isOffline={isOffline} />
      </Section>
      {rule.client_id === null && <Members rule={rule} stats={stats} clients={clients} />}
      {rule.listen_port_end !== null && <Ports stats={stats} />}
      <Section title={text.ruleDetail.totals}>
        <Totals rule={rule} stats={stats} />
      </Section>
      <Section title={text.explain.title}>
        <ExplainForm rule={rule} />
      </Section>
      <Section title={text.pages.connections}>
        <LiveConnections filter={{ rule_id: rule.rule_id }} />
      </Section>
      <Section title={text.ruleDetail.journal}>
        <Journal id={rule.rule_id} />
      </Section>
    </>
  )
}

/** Says that connections from before a pause continue. */
function StillOpen({ rule, open }: { readonly rule: Rule; readonly open: number | null }) {
  if (!rule.paused || open === null || open === 0) return null
  return (
    <Alert color="orange" variant="default" mb="lg" role="status">
      <Text size="sm">{text.ruleDetail.stillOpen(count(open))}</Text>
    </Alert>
  )
}

/** The reason why the rule does not forward, if there is one. */
function StateReason({ rule, isOffline }: { readonly rule: Rule; readonly isOffline: boolean }) {
  const reason = isOffline ? 'client_offline' : rule.state_reason
  if (reason === null || rule.state === 'paused') return null
  return (
    <Alert color={rule.state === 'failed' ? 'red' : 'orange'} variant="default" mb="lg" role="status">
      <Text size="sm">{text.reasons[reason] ?? reason}</Text>
    </Alert>
  )
}
