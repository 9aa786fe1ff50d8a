// Kills a server: its agents must soon move to its peers, and no acknowledged change may be lost.
import { allConnected, distribution, startFleet } from './agents.ts'
import { makeRules } from './changes.ts'
import type { Report } from './checks.ts'
import { spread } from './checks.ts'
import { type ServerPlace, until } from './server-place.ts'

const goalMs = 20_000
const pushedMs = 60_000

export async function killServer(place: ServerPlace, report: Report, options: { readonly agents: number }) {
  const { servers } = place
  const [victim, ...others] = servers
  if (!victim) throw new RangeError('there are no servers')
  const began = performance.now()
  const fleet = await startFleet(place, options.agents)
  report.figure(
    `${options.agents} agents are connected after`,
    `${((performance.now() - began) / 1000).toFixed(1)} s`
  )
  report.figure('before', distribution(await fleet.where()))
  const clientIds = fleet.agents.map(({ clientId }) => clientId)
  const rules = makeRules(place, clientIds)
  await until(
    async () => rules.made.length,
    count => count >= 50
  )

  const left = (await fleet.where()).get(victim.id)?.length ?? 0
  victim.process().signal('SIGKILL')
  const killedAt = performance.now()
  await until(fleet.where, where => where.has('none') || !where.has(victim.id), { everyMs: 20 })
  const where = await allConnected(fleet, 120_000)
  const tookMs = performance.now() - killedAt
  report.figure('after', distribution(where))
  report.figure(`${left} agents have moved after`, `${(tookMs / 1000).toFixed(1)} s`)
  report.check('all agents have moved within 20 s', tookMs <= goalMs, `${tookMs} ms`)
  const atKill = rules.made.length
  await until(
    async () => rules.made.length,
    count => count >= atKill + 50
  )
  await rules.end()
  report.figure('rules made during the move', `${rules.made.length}; ${spread(rules.waits)}`)
  if (rules.refused.size > 0) report.figure('refused', JSON.stringify([...rules.refused]))
  report.check('no rule was refused', rules.refused.size === 0, [...rules.refused])
  await requireRules({ ...place, servers: others }, report, rules.made)
  await victim.restart()
  await requireOneSession(place, report, clientIds.length)
}

/** Checks that each server has each rule, and that it is in force at its agent. */
async function requireRules(
  { servers, query }: Pick<ServerPlace, 'servers' | 'query'>,
  report: Report,
  made: readonly { readonly ruleId: string }[]
): Promise<void> {
  const ids = made.map(({ ruleId }) => ruleId)
  const [stored] = await query<{ count: string }>('select count(*) as count from rules where id = any($1)', [
    ids
  ])
  report.check(
    `${ids.length} rules that were acknowledged are in the store`,
    Number(stored?.count) === ids.length
  )
  const some = ids.slice(-50)
  for (const server of servers) {
    const replies = await Promise.all(some.map(id => server.call({ method: 'GET', path: `/v1/rules/${id}` })))
    report.check(
      `server ${server.id} shows them`,
      replies.every(({ status }) => status === 200)
    )
  }
  const open = await until(
    () =>
      query<{ id: string; state: string }>(
        `select id, state from rules where id = any($1) and state <> 'active'`,
        [ids]
      ),
    rows => rows.length === 0,
    { withinMs: pushedMs }
  )
  report.check('all are in force at their agents', open.length === 0, open.slice(0, 5))
}

/** Checks that each agent has one session, and the servers together as many as there are agents. */
export async function requireOneSession(
  { servers, query }: Pick<ServerPlace, 'servers' | 'query'>,
  report: Report,
  agents: number
): Promise<void> {
  const rows = await until(
    () =>
      query<{ id: string | null; sessions: string }>(
        `select server.server_id as id, count(*) as sessions from servers_session session
         left join servers_server server on server.boot = session.boot group by 1`
      ),
    found => found.every(({ id }) => id !== null),
    { withinMs: 30_000 }
  )
  const stored = new Map(rows.map(({ id, sessions }) => [id, Number(sessions)]))
  report.check('no session belongs to a dead server', !stored.has(null), [...stored])
  const live = servers.flatMap(server =>
    [...liveAt(server.process().events)].map(clientId => ({ clientId, at: server.id }))
  )
  const twice = [...Map.groupBy(live, ({ clientId }) => clientId).values()].filter(({ length }) => length > 1)
  report.check('no agent has two live sessions', twice.length === 0, twice.slice(0, 5))
  report.check('each agent has a session', live.length >= agents, `${live.length} of ${agents}`)
}

/** Returns the clients of a server, according to its log. */
export function liveAt(
  events: readonly { readonly event: string; readonly [field: string]: unknown }[]
): ReadonlySet<string> {
  const open = new Map<string, number>()
  for (const { event, client_id } of events) {
    const step = event === 'client.connected' ? 1 : event === 'client.disconnected' ? -1 : 0
    if (step !== 0) open.set(String(client_id), (open.get(String(client_id)) ?? 0) + step)
  }
  return new Set([...open].filter(([, count]) => count > 0).map(([clientId]) => clientId))
}
