// A cell of the matrix: a rule of one kind under one limit, beside a rule of another owner (the neighbour).
import type { Test } from 'tap'
import { freePort } from '../support/ports.ts'
import type { Limit, Outcome } from './limits.ts'
import type { RuleKind } from './rule-kinds.ts'
import { createRule, type TestRule } from './test-rule.ts'
import type { Stats, World } from './world.ts'

export interface Cell {
  readonly name: string
  readonly ruleIds: readonly string[]
  /** Sends the traffic. Throws if traffic under the limit is refused, or traffic over it is too fast. */
  run(): Promise<void>
  /** Checks the server's stats and metrics afterwards. */
  check(t: Test): Promise<void>
}

interface CellSpec {
  readonly kind: RuleKind
  readonly limit: Limit
  readonly owner: string
}

export async function openCell(t: Test, world: World, spec: CellSpec): Promise<Cell> {
  const { kind, limit, owner } = spec
  await setOwnerLimit(world, spec)
  const listenPort = await freePort(kind.portCount)
  const firstTarget = kind.firstTargetFails ? { host: '127.0.0.1', port: await freePort() } : null
  const rateLimit = limit.scope === 'rule' ? limit.rateLimit(kind.protocol) : null
  const limited = await createRule(t, world, { kind, owner, listenPort, rateLimit, firstTarget })
  const neighbour = await createRule(t, world, {
    kind,
    owner: 'neighbour',
    serverName: 'other.example',
    listenPort: kind.hasServerName ? listenPort : await freePort(kind.portCount),
    firstTarget
  })
  let outcome: Outcome | null = null
  return {
    name: `${kind.name}, ${limit.name}`,
    ruleIds: [limited.ruleId, neighbour.ruleId],
    async run() {
      await limit.stayUnder(limited)
      if (limited.refused() > 0) throw new Error('traffic under the limit was refused')
      const [over] = await Promise.all([limit.exceed(limited), exceedAllLimits(neighbour)])
      outcome = over
      for (const caller of [...limited.callers, ...neighbour.callers]) caller.close()
    },
    async check(t) {
      if (!outcome) throw new Error('the cell did not complete')
      const refused = limited.refused()
      const { least, most } = outcome.refused
      t.ok(refused >= least && refused <= most, `${refused} refusals, expected ${least} to ${most}`)
      await checkStats(t, world, limited, refused > 0 ? { [limit.reason]: refused } : {})
      await checkStats(t, world, neighbour, {})
      checkMetrics(t, world, { limit, limited, refused, waitedMs: outcome.waitedMs })
      t.equal(waitedMs(world, { rule: neighbour.ruleId }), 0, 'the neighbour never waited')
      await limit.check?.(t, limited, world)
    }
  }
}

async function setOwnerLimit({ call, clientId }: World, { kind, limit, owner }: CellSpec): Promise<void> {
  await call('POST', '/v1/users', { user_id: owner, display_name: owner })
  if (limit.monthlyBytes !== null)
    await call('PUT', `/v1/users/${owner}/quotas/${clientId}`, { monthly_bytes: limit.monthlyBytes })
  if (limit.scope === 'owner' && limit.monthlyBytes === null)
    await call(
      'PUT',
      `/v1/clients/${clientId}/owners/${owner}/rate-limit`,
      limit.rateLimit(kind.protocol) ?? undefined
    )
}

/** Uses more bytes, connections and bandwidth than any limit of the matrix allows. */
async function exceedAllLimits({ dial }: TestRule): Promise<void> {
  await Promise.all(Array.from({ length: 6 }, () => dial().echo(20_000)))
}

async function checkStats(t: Test, { call }: World, rule: TestRule, rejected: object): Promise<void> {
  const { ruleId, targets, callers, kind, listenPort } = rule
  const url = `/v1/rules/${ruleId}/stats?per_port=true&per_target=true`
  const stats = await call<Stats>('GET', url)
  const bytesIn = rule.received()
  const bytesOut = rule.echoed()
  t.match(stats, { bytes_in: bytesIn, bytes_out: bytesOut }, `exact bytes of ${rule.owner}`)
  t.same(stats.rejected, rejected, `refusals of ${rule.owner}`)
  t.same(
    stats.per_port.map(({ listen_port, bytes_in }) => [listen_port, bytes_in]),
    targets.map(({ received }, i) => [listenPort + i, received()]),
    'by port'
  )
  t.match(
    stats.per_target.at(-1),
    { bytes_in: bytesIn, bytes_out: bytesOut },
    'only the live target carries bytes'
  )
  const served = callers.filter(({ received }) => received() > 0).length
  if (kind.protocol === 'tcp') t.equal(stats.connections_total, served, 'connections')
  t.equal(stats.target_failovers > 0, kind.firstTargetFails, 'failovers')
}

interface Measured {
  readonly limit: Limit
  readonly limited: TestRule
  readonly refused: number
  readonly waitedMs: number
}

function checkMetrics(t: Test, world: World, { limit, limited, refused, waitedMs: least }: Measured): void {
  const { ruleId: rule, owner } = limited
  const labels = { client: world.clientId, owner, rule, reason: limit.reason }
  t.equal(world.metric('svc_rule_rejected_total', labels), refused, 'refusals in /metrics')
  const waited = waitedMs(world, limit.scope === 'rule' ? { rule } : { owner, rule: '' })
  t.ok(waited >= least, `waited ${waited} ms, expected at least ${least}`)
}

const waitedMs = ({ metric }: World, labels: Readonly<Record<string, string>>): number =>
  metric('svc_rate_limit_throttle_seconds_total', labels) * 1000
