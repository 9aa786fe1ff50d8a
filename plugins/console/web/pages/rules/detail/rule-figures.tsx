import { Text } from '@mantine/core'
import { bytes, count, percent } from '../../../format.ts'
import { Facts } from '../../../parts/Facts.tsx'
import { PlainTable } from '../../../parts/PlainTable.tsx'
import { PageLink } from '../../../parts/page/PageLink.tsx'
import { Section } from '../../../parts/page/Section.tsx'
import { StateLabel } from '../../../parts/StateLabel.tsx'
import { Timestamp } from '../../../parts/Timestamp.tsx'
import { bytesColumn } from '../../../parts/table/columns.tsx'
import type { Column } from '../../../parts/table/rows.ts'
import { Table } from '../../../parts/table/Table.tsx'
import { text } from '../../../text/text.ts'
import type { ClientsById } from '../../clients/queries.ts'
import { pathOf } from '../../links/paths.ts'
import { TargetPath } from '../../links/TargetPath.tsx'
import { addressOf, type Rule } from '../queries.ts'
import { healthOf } from '../shown-state.ts'
import { formatValue } from './format-value.ts'
import type { Stats } from './use-rule-stats.ts'

interface Props {
  readonly rule: Rule
  readonly stats: Stats | null
}

const none = '–'

/** Targets with their health, priority and share of the connections. */
export function Targets({ rule, stats, isOffline }: Props & { readonly isOffline: boolean }) {
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
        { title: text.overview.in, numeric: true },
        { title: text.overview.out, numeric: true }
      ]}
      rows={rule.targets.map((target, i) => {
        const own = stats?.per_target?.find(({ host, port }) => host === target.host && port === target.port)
        return {
          key: `${addressOf(target)} ${i}`,
          cells: [
            <TargetName key="target" rule={rule} target={target} />,
            <Health key="health" target={target} isOffline={isOffline} />,
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

const shownInColumns = ['host', 'port', 'port_end', 'priority', 'weight', 'health', 'via']

/** The address, the path to it, and the properties that plugins add to targets. */
function TargetName({ rule, target }: Pick<Props, 'rule'> & { readonly target: Rule['targets'][number] }) {
  const path = pathOf(rule, target)
  const more = Object.entries(target).filter(
    ([key, value]) => !shownInColumns.includes(key) && value !== null
  )
  return (
    <>
      {addressOf(target)}
      {path.length > 0 && <TargetPath entry={rule.client_id} path={path} />}
      {more.length > 0 && (
        <Text size="sm" c="dimmed">
          {formatValue(Object.fromEntries(more))}
        </Text>
      )}
    </>
  )
}

function Health({
  target,
  isOffline
}: {
  readonly target: Rule['targets'][number]
  readonly isOffline: boolean
}) {
  const state = healthOf(target, isOffline)
  const { reason, source, ejected_until, ejected_reason, last_failure_at, consecutive_failures } =
    target.health
  const why = reason === null ? [] : [text.reasons[reason] ?? reason]
  const by = source === null ? [] : [text.ruleDetail.sources[source]]
  return (
    <>
      <StateLabel state={state} />
      {state === 'ejected' && ejected_until !== null && (
        <Text size="xs" c="dimmed">
          {text.ruleDetail.until} <Timestamp at={ejected_until} /> · {ejected_reason}
        </Text>
      )}
      {state === 'failed' && (why.length > 0 || by.length > 0) && (
        <Text size="xs" c="dimmed">
          {[...why, ...by].join(' · ')}
        </Text>
      )}
      {state === 'failed' && last_failure_at !== null && (
        <Text size="xs" c="dimmed">
          {text.ruleDetail.failures(count(consecutive_failures))} ·{' '}
          <Timestamp at={last_failure_at} format="ago" />
        </Text>
      )}
    </>
  )
}

/** Members of a group rule: its state and traffic on each client. */
export function Members({ rule, stats, clients }: Props & { readonly clients: ClientsById }) {
  return (
    <Section title={text.pages.clients}>
      <PlainTable
        label={text.pages.clients}
        columns={[
          { title: text.rules.client },
          { title: text.rules.state },
          { title: text.rules.reason },
          { title: text.overview.connections, numeric: true },
          { title: text.overview.in, numeric: true },
          { title: text.overview.out, numeric: true }
        ]}
        rows={(rule.edges ?? []).map(({ client_id, client_name, state, state_reason }) => {
          const isOffline = clients.get(client_id)?.connected === false
          const own = stats?.per_client?.find(at => at.client_id === client_id)
          return {
            key: client_id,
            cells: [
              <PageLink key="client" to={`/clients/${client_id}`}>
                {client_name}
              </PageLink>,
              <StateLabel
                key="state"
                state={isOffline && state === 'active' ? 'unknown' : (state as Rule['state'])}
              />,
              isOffline ? text.rules.clientOffline : (state_reason ?? ''),
              own && !isOffline ? count(own.active_connections + own.active_flows) : none,
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

const portColumns: readonly Column<Port>[] = [
  { id: 'port', title: text.rules.port, value: ({ listen_port }) => listen_port, width: 7 },
  {
    id: 'connections',
    title: text.overview.connections,
    value: ({ active_connections }) => active_connections,
    numeric: true
  },
  bytesColumn('bytes_in', text.overview.in),
  bytesColumn('bytes_out', text.overview.out)
]

export const Ports = ({ stats }: Pick<Props, 'stats'>) => (
  <Section title={text.ruleDetail.ports}>
    <Table
      name="rule-ports"
      what={text.ruleDetail.ports}
      rows={stats?.per_port ?? []}
      columns={portColumns}
      idOf={({ listen_port }) => String(listen_port)}
      empty={<Text c="dimmed">{text.ruleDetail.noPorts}</Text>}
    />
  </Section>
)

/** Totals since the rule was created. */
export function Totals({ rule, stats }: Props) {
  if (stats === null) return <Text c="dimmed">{text.loading}</Text>
  const refused = Object.entries(stats.rejected)
  return (
    <Facts
      facts={[
        { name: text.overview.in, value: bytes(stats.bytes_in) },
        { name: text.overview.out, value: bytes(stats.bytes_out) },
        { name: text.ruleDetail.connections, value: count(stats.connections_total) },
        rule.protocol === 'udp' && {
          name: text.ruleDetail.datagrams,
          value: `${count(stats.datagrams_in)} / ${count(stats.datagrams_out)}`
        },
        { name: text.ruleDetail.failovers, value: count(stats.target_failovers) },
        { name: text.ruleDetail.dnsFailures, value: count(stats.dns_failures) },
        {
          name: text.ruleDetail.refused,
          value:
            refused.length === 0
              ? count(0)
              : refused.map(([reason, n]) => `${reason}: ${count(n)}`).join(', ')
        },
        {
          name: text.ruleDetail.reported,
          value: stats.updated_at === null ? none : <Timestamp at={stats.updated_at} format="ago" />
        }
      ]}
    />
  )
}
