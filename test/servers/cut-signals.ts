// Repeatedly cuts the signal connections between servers: changes must still reach agents at peer servers.
import { startFleet } from './agents.ts'
import { type Report, spread } from './checks.ts'
import { oneOf, ruleOf, type ServerPlace } from './server-place.ts'

const goalMs = 2_000
const shareKey = 0x73_6c_75_69 // of the lock that these connections hold: kernel/store/postgres/sessions.ts

interface Options {
  readonly cuts: number
  readonly marginMs: number
}

interface Watched {
  readonly clientId: string
  readonly ruleId: string
}

export async function cutSignals(
  place: ServerPlace,
  report: Report,
  { cuts, marginMs }: Options
): Promise<void> {
  const fleet = await startFleet(place, 20)
  const [asked, other] = place.servers
  if (!asked || !other) throw new RangeError('it takes two servers')
  const clientIds = ((await fleet.where()).get(other.id) ?? []).slice(0, 5)
  const watched: Watched[] = []
  for (const clientId of clientIds) {
    const { status, body } = await other.call({
      method: 'POST',
      path: '/v1/rules',
      body: ruleOf(clientId, 8_000)
    })
    if (status !== 201) throw new Error(`no rule: ${JSON.stringify(body)}`)
    watched.push({ clientId, ruleId: String(body['rule_id']) })
  }
  const waits: number[] = []
  const unanswered: unknown[] = []
  let cut = 0

  for (let round = 0; cut < cuts; round++) {
    cut += await cutSome(place, oneOf([1, 2]))
    const began = Date.now()
    await Promise.all(watched.map(change))

    async function change({ clientId, ruleId }: Watched): Promise<void> {
      const body = { targets: [{ host: '127.0.0.1', port: 1 + (round % 60_000) }] }
      const { status, body: answer } = await asked!.call({
        method: 'PATCH',
        path: `/v1/rules/${ruleId}`,
        body
      })
      if (status !== 200) unanswered.push({ status, answer })
      const at = (await fleet.arrivals())[`${clientId} ${ruleId}`]
      waits.push(at === undefined || at < began ? Number.POSITIVE_INFINITY : at - began)
    }
  }
  report.figure('connections cut', cut)
  report.figure('a change at a peer server reaches the agent after', spread(waits))
  const late = waits.filter(wait => wait > goalMs + marginMs).length
  report.check(
    `each change reaches its agent within 2 s (plus a margin of ${marginMs} ms)`,
    late === 0,
    `${late} of ${waits.length}`
  )
  report.check('each caller has the answer of the agent', unanswered.length === 0, unanswered.slice(0, 3))
}

/** Cuts this many of the connections; returns the number that existed. */
async function cutSome({ query }: ServerPlace, most: number): Promise<number> {
  const rows = await query(
    `select pg_terminate_backend(pid) from (
       select pid from pg_locks where locktype = 'advisory' and mode = 'ShareLock' and objsubid = 1 and objid = $1::bigint::oid
       order by random() limit $2) as found`,
    [shareKey, most]
  )
  return rows.length
}
