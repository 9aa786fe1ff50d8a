import { Alert, Anchor, Space, Text } from '@mantine/core'
import { Link } from 'wouter'
import { errorOf } from '../../../api/api-error.ts'
import { SpeedAndConnections } from '../../../parts/chart/SpeedAndConnections.tsx'
import { Empty } from '../../../parts/EmptyState.tsx'
import { Head } from '../../../parts/PageHead.tsx'
import { Loaded } from '../../../parts/QueryResult.tsx'
import { Section } from '../../../parts/Section.tsx'
import { State } from '../../../parts/StateLabel.tsx'
import { text } from '../../../text/text.ts'
import { useEdgesById } from '../../clients/queries.ts'
import { Live } from '../../connections/LiveConnections.tsx'
import { nameOf, type Rule, useRule } from '../queries.ts'
import { isAway, shownStateOf } from '../shown-state.ts'
import { Explain } from './ExplainForm.tsx'
import { Journal } from './Journal.tsx'
import { Buttons } from './RuleActions.tsx'
import { RuleFacts } from './RuleFacts.tsx'
import { Edges, Ports, Targets, Totals } from './rule-figures.tsx'
import { useRuleStats } from './use-rule-stats.ts'

export function Detail({ id }: { readonly id: string }) {
  const rule = useRule(id)
  const isGone = rule.isError && ['rule_not_found', 'not_owner'].includes(errorOf(rule.error).code)
  return (
    <>
      <Anchor component={Link} href="/rules" size="sm">
        {text.pages.rules}
      </Anchor>
      {isGone ? <Gone /> : <Loaded query={rule}>{found => <Shown rule={found} />}</Loaded>}
    </>
  )
}

const Gone = () => (
  <>
    <Head title={text.pages.rules} />
    <Empty what={text.ruleDetail.gone}>
      <Anchor component={Link} href="/rules">
        {text.pages.rules}
      </Anchor>
    </Empty>
  </>
)

function Shown({ rule }: { readonly rule: Rule }) {
  const edges = useEdgesById()
  const away = isAway(rule, edges)
  const { stats, speed, connections, isRemoved } = useRuleStats(rule, away)
  const state = shownStateOf(rule, edges)
  if (isRemoved) return <Gone />
  return (
    <>
      <Head title={nameOf(rule)}>
        <State of={state} />
        <Buttons rule={rule} />
      </Head>
      <Why rule={rule} away={away} />
      <RuleFacts rule={rule} />
      <Space h="xl" />
      <SpeedAndConnections title={text.ruleDetail.speed} speed={speed} connections={connections} />
      <Section title={text.rules.targets}>
        <Targets rule={rule} stats={stats} away={away} />
      </Section>
      {rule.client_id === null && <Edges rule={rule} stats={stats} edges={edges} />}
      {rule.listen_port_end !== null && <Ports stats={stats} />}
      <Section title={text.ruleDetail.totals}>
        <Totals rule={rule} stats={stats} />
      </Section>
      <Section title={text.explain.title}>
        <Explain rule={rule} />
      </Section>
      <Section title={text.pages.connections}>
        <Live fixed={{ rule_id: rule.rule_id }} />
      </Section>
      <Section title={text.ruleDetail.journal}>
        <Journal id={rule.rule_id} />
      </Section>
    </>
  )
}

/** Why the rule does not forward, in words where there are some. */
function Why({ rule, away }: { readonly rule: Rule; readonly away: boolean }) {
  const reason = away ? 'edge_away' : rule.state_reason
  if (reason === null || rule.state === 'paused') return null
  return (
    <Alert color={rule.state === 'failed' ? 'red' : 'orange'} variant="default" mb="lg" role="status">
      <Text size="sm">{text.reasons[reason] ?? reason}</Text>
    </Alert>
  )
}
