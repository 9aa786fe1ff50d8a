import { Anchor, Text } from '@mantine/core'
import { Link } from 'wouter'
import { bytes, count, percent } from '../../../format.ts'
import { Fact, Facts } from '../../../parts/Facts.tsx'
import { PlainTable } from '../../../parts/PlainTable.tsx'
import { Section } from '../../../parts/Section.tsx'
import { State } from '../../../parts/StateLabel.tsx'
import { When } from '../../../parts/Timestamp.tsx'
import { Table } from '../../../parts/table/Table.tsx'
import { text } from '../../../text/text.ts'
import type { EdgesById } from '../../clients/queries.ts'
import { addressOf, type Rule } from '../queries.ts'
import { healthOf } from '../shown-state.ts'
import type { Stats } from './use-rule-stats.ts'

interface Props {
  readonly rule: Rule
  readonly stats: Stats | null
}

const none = '–'

/** Where connections go, whether they arrive there, and how many of them go to each. */
export function Targets({ rule, stats, away }: Props & { readonly away: boolean }) {
  const all = stats?.per_target?.reduce((sum, { connections_total }) => sum + connections_total, 0) ?? 0
  return (
    <PlainTable
      label={text.rules.targets}
      columns={[
        { title: text.connections.target },
        { title: text.ruleDetail.health },
        { title: text.ruleForm.priority, numeric: true },
        { title: text.ruleForm.weight, numeric: true },
        { title: text.ruleDetail.share, numeric: true },
        { title: text.overview.toTargets, numeric: true },
        { title: text.overview.toCallers, numeric: true }
      ]}
      rows={rule.targets.map(target => {
        const own = stats?.per_target?.find(({ host, port }) => host === target.host && port === target.port)
        return {
          key: addressOf(target),
          cells: [
            addressOf(target),
            <Health key="health" target={target} away={away} />,
            target.priority,
            target.weight,
            own && all > 0 ? percent(own.connections_total / all) : none,
            own ? bytes(own.bytes_in) : none,
            own ? bytes(own.bytes_out) : none
          ]
        }
      })}
    />
  )
}

function Health({ target, away }: { readonly target: Rule['targets'][number]; readonly away: boolean }) {
  const state = healthOf(target, away)
  const { ejected_until, ejected_reason, last_failure_at, consecutive_failures } = target.health
  return (
    <>
      <State of={state} />
      {state === 'ejected' && ejected_until !== null && (
        <Text size="xs" c="dimmed">
          {text.ruleDetail.until} <When at={ejected_until} /> · {ejected_reason}
        </Text>
      )}
      {state === 'failed' && last_failure_at !== null && (
        <Text size="xs" c="dimmed">
          {text.ruleDetail.failures(count(consecutive_failures))} · <When at={last_failure_at} form="ago" />
        </Text>
      )}
    </>
  )
}

/** Of a rule on several edges: how it is on each. */
export function Edges({ rule, stats, edges }: Props & { readonly edges: EdgesById }) {
  return (
    <Section title={text.pages.edges}>
      <PlainTable
        label={text.pages.edges}
        columns={[
          { title: text.rules.edge },
          { title: text.rules.state },
          { title: text.rules.reason },
          { title: text.overview.connections, numeric: true },
          { title: text.overview.toTargets, numeric: true },
          { title: text.overview.toCallers, numeric: true }
        ]}
        rows={(rule.edges ?? []).map(({ client_id, client_name, state, state_reason }) => {
          const away = edges.get(client_id)?.connected === false
          const own = stats?.per_client?.find(at => at.client_id === client_id)
          return {
            key: client_id,
            cells: [
              <Anchor key="edge" component={Link} href={`/edges/${client_id}`} size="sm">
                {client_name}
              </Anchor>,
              <State key="state" of={away && state === 'active' ? 'unknown' : (state as Rule['state'])} />,
              away ? text.rules.edgeAway : (state_reason ?? ''),
              own && !away ? count(own.active_connections + own.active_flows) : none,
              own ? bytes(own.bytes_in) : none,
              own ? bytes(own.bytes_out) : none
            ]
          }
        })}
      />
    </Section>
  )
}

type Port = NonNullable<Stats['per_port']>[number]

const portColumns = () => [
  {
    id: 'port',
    title: text.rules.port,
    value: ({ listen_port }: Port) => listen_port,
    width: 7
  },
  {
    id: 'connections',
    title: text.overview.connections,
    value: ({ active_connections }: Port) => active_connections,
    numeric: true as const
  },
  {
    id: 'in',
    title: text.overview.toTargets,
    value: ({ bytes_in }: Port) => bytes_in,
    cell: ({ bytes_in }: Port) => bytes(bytes_in),
    numeric: true as const
  },
  {
    id: 'out',
    title: text.overview.toCallers,
    value: ({ bytes_out }: Port) => bytes_out,
    cell: ({ bytes_out }: Port) => bytes(bytes_out),
    numeric: true as const
  }
]

export const Ports = ({ stats }: Pick<Props, 'stats'>) => (
  <Section title={text.ruleDetail.ports}>
    <Table
      name="rule-ports"
      what={text.ruleDetail.ports}
      rows={stats?.per_port ?? []}
      columns={portColumns()}
      idOf={({ listen_port }) => String(listen_port)}
      empty={<Text c="dimmed">{text.ruleDetail.noPorts}</Text>}
    />
  </Section>
)

/** What the rule has forwarded and refused since it was made. */
export function Totals({ rule, stats }: Props) {
  if (stats === null) return <Text c="dimmed">{text.loading}</Text>
  const refused = Object.entries(stats.rejected)
  return (
    <Facts>
      <Fact name={text.overview.toTargets}>{bytes(stats.bytes_in)}</Fact>
      <Fact name={text.overview.toCallers}>{bytes(stats.bytes_out)}</Fact>
      <Fact name={text.ruleDetail.connections}>{count(stats.connections_total)}</Fact>
      {rule.protocol === 'udp' && (
        <Fact name={text.ruleDetail.datagrams}>
          {count(stats.datagrams_in)} / {count(stats.datagrams_out)}
        </Fact>
      )}
      <Fact name={text.ruleDetail.failovers}>{count(stats.target_failovers)}</Fact>
      <Fact name={text.ruleDetail.dnsFailures}>{count(stats.dns_failures)}</Fact>
      <Fact name={text.ruleDetail.refused}>
        {refused.length === 0 ? count(0) : refused.map(([reason, n]) => `${reason}: ${count(n)}`).join(', ')}
      </Fact>
      <Fact name={text.ruleDetail.reported}>
        {stats.updated_at === null ? none : <When at={stats.updated_at} form="ago" />}
      </Fact>
    </Facts>
  )
}
