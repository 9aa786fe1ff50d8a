// One kind of rule under one limit, with a neighbour of another owner beside it.
import type { Test } from 'tap'
import { freePort } from '../support/ports.ts'
import type { Kind } from './kinds.ts'
import type { Limit, Outcome } from './limits.ts'
import { type Placed, place } from './place.ts'
import type { Stats, World } from './world.ts'

export interface Cell {
  readonly name: string
  readonly ruleIds: readonly string[]
  /** The traffic. Throws where what is under the limit is refused, or what is over it is too fast. */
  play(): Promise<void>
  /** What the server says of it afterwards. */
  check(t: Test): Promise<void>
}

interface Crossing {
  readonly kind: Kind
  readonly limit: Limit
  readonly owner: string
}

export async function openCell(t: Test, world: World, of: Crossing): Promise<Cell> {
  const { kind, limit, owner } = of
  await limitOwner(world, of)
  const listenPort = await freePort(kind.width)
  const first = kind.isFirstDead ? { host: '127.0.0.1', port: await freePort() } : null
  const caps = limit.scope === 'rule' ? limit.caps(kind.protocol) : null
  const limited = await place(t, world, { kind, owner, listenPort, caps, first })
  const neighbour = await place(t, world, {
    kind,
    owner: 'neighbour',
    name: 'other.example',
    listenPort: kind.isNamed ? listenPort : await freePort(kind.width),
    first
  })
  let outcome: Outcome | null = null
  return {
    name: `${kind.name}, ${limit.name}`,
    ruleIds: [limited.ruleId, neighbour.ruleId],
    async play() {
      await limit.under(limited)
      if (limited.refused() > 0) throw new Error('what is under the limit was refused')
      const [over] = await Promise.all([limit.over(limited), useUp(neighbour)])
      outcome = over
      for (const caller of [...limited.callers, ...neighbour.callers]) caller.close()
    },
    async check(t) {
      if (!outcome) throw new Error('it was not played to the end')
      const refused = limited.refused()
      const { least, most } = outcome.refused
      t.ok(refused >= least && refused <= most, `${refused} were refused, of ${least} to ${most}`)
      await checkBooks(t, world, limited, refused > 0 ? { [limit.reason]: refused } : {})
      await checkBooks(t, world, neighbour, {})
      checkMetrics(t, world, { limit, limited, refused, waitedMs: outcome.waitedMs })
      t.equal(waitedMs(world, { rule: neighbour.ruleId }), 0, 'the neighbour never waited')
      await limit.check?.(t, limited, world)
    }
  }
}

async function limitOwner({ call, clientId }: World, { kind, limit, owner }: Crossing): Promise<void> {
  await call('POST', '/v1/users', { user_id: owner, display_name: owner })
  if (limit.monthlyBytes !== null)
    await call('PUT', `/v1/users/${owner}/quotas/${clientId}`, { monthly_bytes: limit.monthlyBytes })
  if (limit.scope === 'owner' && limit.monthlyBytes === null)
    await call(
      'PUT',
      `/v1/clients/${clientId}/owners/${owner}/rate-limit`,
      limit.caps(kind.protocol) ?? undefined
    )
}

/** More of everything than any limit of the cells allows. */
async function useUp({ dial }: Placed): Promise<void> {
  await Promise.all(Array.from({ length: 6 }, () => dial().say(20_000)))
}

async function checkBooks(t: Test, { call }: World, placed: Placed, rejected: object): Promise<void> {
  const { ruleId, targets, callers, kind, listenPort } = placed
  const url = `/v1/rules/${ruleId}/stats?per_port=true&per_target=true`
  const stats = await call<Stats>('GET', url)
  const [bytesIn, bytesOut] = [placed.received(), placed.heard()]
  t.match(stats, { bytes_in: bytesIn, bytes_out: bytesOut }, `exact bytes of ${placed.owner}`)
  t.same(stats.rejected, rejected, `refusals of ${placed.owner}`)
  t.same(
    stats.per_port.map(({ listen_port, bytes_in }) => [listen_port, bytes_in]),
    targets.map(({ received }, i) => [listenPort + i, received()]),
    'by port'
  )
  t.match(stats.per_target.at(-1), { bytes_in: bytesIn, bytes_out: bytesOut }, 'all by the live target')
  const served = callers.filter(({ heard }) => heard() > 0).length
  if (kind.protocol === 'tcp') t.equal(stats.connections_total, served, 'connections')
  t.equal(stats.target_failovers > 0, kind.isFirstDead, 'failovers')
}

interface Seen {
  readonly limit: Limit
  readonly limited: Placed
  readonly refused: number
  readonly waitedMs: number
}

function checkMetrics(t: Test, world: World, { limit, limited, refused, waitedMs: least }: Seen): void {
  const { ruleId: rule, owner } = limited
  const labels = { client: world.clientId, owner, rule, reason: limit.reason }
  t.equal(world.metric('svc_rule_rejected_total', labels), refused, 'refusals in /metrics')
  const waited = waitedMs(world, limit.scope === 'rule' ? { rule } : { owner, rule: '' })
  t.ok(waited >= least, `waited for ${waited} ms, at least ${least}`)
}

const waitedMs = ({ metric }: World, of: Readonly<Record<string, string>>): number =>
  metric('svc_rate_limit_throttle_seconds_total', of) * 1000
