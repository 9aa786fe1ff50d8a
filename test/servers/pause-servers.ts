// Pauses servers for longer than their lease while their agents move to another. Earlier reports must not be stored later.
import { setTimeout as pause } from 'node:timers/promises'
import { StatsReport } from '../../agent/wire/journal-report.ts'
import type { ScriptedAgent } from '../../kit/scripted-agent.ts'
import type { Report } from './checks.ts'
import { askedAt, connect, type Edge, edgeAt, stageCertificate, statsOf } from './edges.ts'
import { liveAt } from './kill-server.ts'
import { leaseMs, type Server, type ServerPlace, until } from './server-place.ts'

interface Options {
  readonly pauses: number
  readonly agents: number // for each paused server
}

interface Written {
  readonly of: string // table and statement
  readonly what: string // one row
}

const settleMs = 3_000 // for the work of a server after SIGCONT
/** Writes that a server makes for itself, not for an agent: it deletes old results and sends change signals to pages. */
const ownStatements =
  /^(servers_(server|task|request)|audit_|http_|auth_|console_change)|^servers_result DELETE/

export const roleOf = (id: string): string => `sluice_${id}`

/** Pauses all servers but the last at the same time, repeatedly. */
export async function pauseServers(
  place: ServerPlace,
  report: Report,
  { pauses, agents }: Options
): Promise<void> {
  const [other, ...victims] = place.servers.toReversed()
  if (!other || victims.length === 0) throw new RangeError('it takes two servers')
  await stageCertificate(place)
  await restartAll(place)
  await watchWrites(place)
  const written = new Map<string, string>()
  const wrong: unknown[] = []
  let moved = 0
  let done = 0
  for (; done < pauses; done += victims.length) {
    const found = await pauseAll({ place, victims, other, agents })
    for (const { of, what } of found.written) written.set(of, what)
    wrong.push(...found.wrong)
    moved += found.moved
  }
  report.figure('pauses', `${done}, ${victims.length} at a time; ${moved} agents moved`)
  const found = [...written].filter(([of]) => !ownStatements.test(of))
  report.figure('writes of servers after SIGCONT', [...written.keys()].toSorted().join(', '))
  report.check('the servers stored nothing for agents that had moved', found.length === 0, found)
  report.check(
    'reports of the newer session are in the store, and only the newer session is live',
    wrong.length === 0,
    wrong.slice(0, 5)
  )
  report.check(
    'the paused servers have no agents',
    victims.every(victim => liveAt(victim.process().events).size === 0)
  )
}

interface Round {
  readonly place: ServerPlace
  readonly victims: readonly Server[]
  readonly other: Server // not paused
  readonly agents: number
}

async function pauseAll({ place, victims, other, agents }: Round) {
  const edges = await edgesAt(place, victims, agents, edgeAt)
  const asked = await edgesAt(place, victims, 1, askedAt)
  const all = [...edges, ...asked]
  for (const victim of victims) victim.process().signal('SIGSTOP')
  for (const { send } of all) send()
  await pause(leaseMs + 500)
  const fresh = await Promise.all(all.map(agent => connect(place, other, agent)))
  await Promise.all(
    edges.map(({ ruleId }, at) => fresh[at]?.channel.request(StatsReport, statsOf(ruleId, 1_000)))
  )
  await place.query('truncate writes')
  for (const victim of victims) victim.process().signal('SIGCONT')
  await Promise.all(all.map(({ old }) => old.closed()))
  await pause(settleMs)
  const written = await writesOf(place, victims)
  const wrong = await wrongOf(place, edges, fresh)
  await Promise.all(fresh.map(agent => agent.close()))
  await until(
    async () => liveAt(other.process().events).size,
    count => count === 0
  )
  return { written, wrong, moved: all.length }
}

/** Connects new agents to each of the servers. */
async function edgesAt<E>(
  place: ServerPlace,
  servers: readonly Server[],
  count: number,
  edge: (
    place: ServerPlace,
    server: Server,
    agent: Awaited<ReturnType<ServerPlace['addClients']>>[number]
  ) => Promise<E>
): Promise<readonly E[]> {
  const agents = await place.addClients(servers.length * count)
  return Promise.all(
    servers.flatMap((server, i) =>
      agents.slice(i * count, (i + 1) * count).map(agent => edge(place, server, agent))
    )
  )
}

async function restartAll({ servers }: ServerPlace): Promise<void> {
  for (const server of servers) {
    server.process().signal('SIGTERM')
    await server.process().exit
    await server.restart()
  }
}

/** Records each later write with the role of its server. */
async function watchWrites({ query }: ServerPlace): Promise<void> {
  await query('create table writes (role text, of text, what text)') // of: table and statement
  await query(`create function note_write() returns trigger language plpgsql as $$
    begin insert into writes values (session_user, tg_table_name || ' ' || tg_op, coalesce(to_jsonb(new), to_jsonb(old))::text); return null; end $$`)
  await query(`do $$ declare found record; begin
    for found in select tablename from pg_tables where schemaname = 'public' and tablename <> 'writes' loop
      execute format('create trigger note_write after insert or update or delete on %I for each row execute function note_write()', found.tablename);
    end loop; end $$`)
}

const writesOf = ({ query }: ServerPlace, servers: readonly Server[]): Promise<readonly Written[]> =>
  query<Written>('select of, min(what) as what from writes where role = any($1) group by of', [
    servers.map(({ id }) => roleOf(id))
  ])

/** Returns rules without the counts or state of the newer session, and sessions other than the newer one. */
async function wrongOf(
  { query }: ServerPlace,
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
     left join servers_session session on session.client_id = rules.client_id where rules.id = any($1)`,
    [edges.map(({ ruleId }) => ruleId)]
  )
  const sessions = new Set(fresh.map(({ welcome }) => welcome.session_id))
  return rows.filter(
    ({ state, bytes, session, boot }) =>
      state !== 'active' || Number(bytes) !== 1_000 || boot === null || !sessions.has(session)
  )
}
