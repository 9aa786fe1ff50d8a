// A server is paused for longer than its lease, while its agents go elsewhere. What they had sent to it is not stored later.
import { setTimeout as pause } from 'node:timers/promises'
import { newId } from '../../kernel/base/id.ts'
import { connectAgent, type ScriptedAgent, scriptedResponse } from '../../kit/scripted-agent.ts'
import { Report as BanReport, messages as banMessages, capability as bans } from '../../plugins/bans/wire.ts'
import { Report as JournalReport, messages as journalMessages } from '../../plugins/journal/wire.ts'
import { RulePush, RuleRemove, messages as ruleMessages } from '../../plugins/rules/wire.ts'
import { encodeRow, noCounts, StatsReport, messages as statsMessages } from '../../plugins/stats/wire.ts'
import type { Report } from './checks.ts'
import { liveAt } from './killed.ts'
import { type Agent, leaseMs, type Place, ruleOf, type Server, until } from './place.ts'

interface Options {
  readonly pauses: number
  readonly agents: number
}

interface Edge extends Agent {
  readonly ruleId: string
  readonly old: ScriptedAgent // at the server that is paused
}

interface Written {
  readonly of: string // table
  readonly what: string // one of the rows
}

const messages = [...ruleMessages, ...statsMessages, ...journalMessages, ...banMessages]
const settleMs = 3_000 // of what the server does when it goes on
const port = 8_000

/** What an agent sends that is stored, each for itself. */
const sent: readonly ((edge: Edge) => Promise<unknown>)[] = [
  ({ old, ruleId }) => old.channel.request(StatsReport, statsOf(ruleId, 1_000_000_000)),
  ({ old, ruleId }) => old.channel.request(JournalReport, { entries: [entryOf(ruleId)] }),
  ({ old, ruleId }) => old.channel.request(BanReport, { bans: [banOf(ruleId)] }),
  async ({ old, ruleId }) =>
    old.sendStatus({ kind: 'rule', id: ruleId, revision: 1, code: 'port_in_use', message: 'by another' }),
  async ({ old }) => old.sendRemoved({ kind: 'rule', id: newId(Date.now()), revision: 1 })
]
/** Tables that a server writes for itself, not for an agent. */
const ofServers = /^(control_(server|task|request)|audit_|http_|auth_)/

export const roleOf = (id: string): string => `sluice_${id}`

export async function paused(place: Place, report: Report, { pauses, agents }: Options): Promise<void> {
  const [victim, other] = place.servers
  if (!victim || !other) throw new RangeError('it takes two servers')
  await watchWrites(place)
  const written = new Map<string, string>()
  const wrong: unknown[] = []
  let moved = 0
  for (let round = 0; round < pauses; round++) {
    const edges = await Promise.all(
      (await place.addClients(agents)).map(agent => edgeAt(place, victim, agent))
    )
    victim.process().signal('SIGSTOP')
    for (const edge of edges) for (const send of sent) send(edge).catch(() => {}) // nobody answers
    await pause(leaseMs + 500)
    const fresh = await Promise.all(edges.map(edge => connect(place, other, edge)))
    await Promise.all(
      fresh.map((agent, at) => agent.channel.request(StatsReport, statsOf(edges[at]?.ruleId ?? '', 1_000)))
    )
    await place.query('truncate writes')
    victim.process().signal('SIGCONT')
    await Promise.all(edges.map(({ old }) => old.closed()))
    await pause(settleMs)
    for (const { of, what } of await writesOf(place, victim)) written.set(of, what)
    wrong.push(...(await wrongOf(place, edges, fresh)))
    moved += edges.length
    await Promise.all(fresh.map(agent => agent.close()))
    await until(
      async () => [...liveAt(other.process().events)].length,
      count => count === 0
    )
  }
  report.figure('pauses', `${pauses}, with ${moved} agents that went elsewhere`)
  const found = [...written].filter(([table]) => !ofServers.test(table))
  report.figure('tables that the server wrote to after it went on', [...written.keys()].toSorted().join(', '))
  report.check('the server stored nothing of agents that it had lost', found.length === 0, found)
  report.check(
    'what the newer session has told is in the store, and the newer session alone is live',
    wrong.length === 0,
    wrong.slice(0, 5)
  )
  report.check('the server has none of the agents', liveAt(victim.process().events).size === 0)
}

const script = { messages, capabilities: { [bans.id]: bans.since } }

async function connect(
  place: Place,
  { controlPort, fingerprint }: Server,
  { token }: Agent
): Promise<ScriptedAgent> {
  const responses = [
    scriptedResponse(RulePush, ({ rule_id, revision }) => ({ rule_id, revision })),
    scriptedResponse(RuleRemove, ({ rule_id, revision }) => ({ rule_id, revision }))
  ]
  const at = { port: controlPort, fingerprint: fingerprint() }
  return connectAgent(place, { ...script, ...at, token, instanceId: token, responses })
}

async function edgeAt(place: Place, server: Server, agent: Agent): Promise<Edge> {
  const old = await connect(place, server, agent)
  const { status, body } = await server.call({
    method: 'POST',
    path: '/v1/rules',
    body: ruleOf(agent.clientId, port)
  })
  if (status !== 201) throw new Error(`no rule: ${JSON.stringify(body)}`)
  return { ...agent, old, ruleId: String(body['rule_id']) }
}

const statsOf = (ruleId: string, bytesIn: number) => ({
  ...{ epoch: 'a'.repeat(32), seq: bytesIn, part: 0, last: true, live: [] },
  rows: [encodeRow({ ...noCounts, ruleId, kind: 'port', key: String(port), bytesIn })]
})

const entryOf = (ruleId: string) => ({
  ...{ id: newId(Date.now()), rule_id: ruleId, at_ms: Date.now(), kind: 'failover' as const },
  ...{ from: 'one', to: 'other', cause: 'dial_failed', target: '' }
})

const banOf = (ruleId: string) => ({
  ...{ id: newId(Date.now()), source: '192.0.2.1', rule_id: ruleId, cause: 'new_connections' as const },
  ...{ from_ms: Date.now(), until_ms: Date.now() + 60_000, times: 1, live: 'keep' as const }
})

/** Each write from now on is noted with the role of its server. */
async function watchWrites({ query }: Place): Promise<void> {
  await query('create table writes (role text, of text, what text)')
  await query(`create function note_write() returns trigger language plpgsql as $$
    begin insert into writes values (session_user, tg_table_name, tg_op || ' ' || coalesce(to_jsonb(new), to_jsonb(old))::text); return null; end $$`)
  await query(`do $$ declare found record; begin
    for found in select tablename from pg_tables where schemaname = 'public' and tablename <> 'writes' loop
      execute format('create trigger note_write after insert or update or delete on %I for each row execute function note_write()', found.tablename);
    end loop; end $$`)
}

const writesOf = ({ query }: Place, { id }: Server): Promise<readonly Written[]> =>
  query<Written>('select of, min(what) as what from writes where role = $1 group by of', [roleOf(id)])

/** Rules whose counts or state are not those of the newer session, and sessions that are not the newer one. */
async function wrongOf(
  { query }: Place,
  edges: readonly Edge[],
  fresh: readonly ScriptedAgent[]
): Promise<readonly object[]> {
  const rows = await query<{
    id: string
    state: string
    bytes: string
    session: string
    boot: string | null
  }>(
    `select rules.id, rules.state, total.bytes_in as bytes, session.session_id as session, session.boot from rules
     left join stats_total total on total.rule_id = rules.id and total.kind = 'port'
     left join control_session session on session.client_id = rules.client_id where rules.id = any($1)`,
    [edges.map(({ ruleId }) => ruleId)]
  )
  const sessions = new Set(fresh.map(({ welcome }) => welcome.session_id))
  return rows.filter(
    ({ state, bytes, session, boot }) =>
      state !== 'active' || Number(bytes) !== 1_000 || boot === null || !sessions.has(session)
  )
}
