// Kills PostgreSQL repeatedly while callers make changes with keys at all servers.
import { setTimeout as pause } from 'node:timers/promises'
import { newId } from '../../kernel/platform/id.ts'
import { codeOf, decide, isMade, type Outcome } from './changes.ts'
import { type Report, spread } from './checks.ts'
import { type Server, type ServerPlace, until } from './server-place.ts'

const callers = 9
const mostGrants = 500 // for each user; the limit is 1,000
const upMs = 4_000 // of traffic between two kills

interface Made {
  readonly key: string
  readonly outcome: Outcome
  readonly ms: number
}

export async function killDatabase(
  place: ServerPlace,
  report: Report,
  { kills }: { readonly kills: number }
): Promise<void> {
  const { cluster, servers } = place
  const made: Made[] = []
  let isEnding = false
  const running = Array.from({ length: callers }, async (_, caller) => {
    let userId = ''
    for (let number = 0; !isEnding; number++) {
      if (number % mostGrants === 0) userId = await addUser(servers, `user${caller}-${number}`)
      made.push(await grant(place, userId))
    }
  })
  for (let kill = 0; kill < kills; kill++) {
    await pause(upMs)
    cluster.stop()
    await pause(Math.random() * 2_000)
    cluster.start()
  }
  const before = made.length
  await until(
    async () => made.length,
    count => count >= before + callers * 3
  )
  isEnding = true
  await Promise.all(running)
  report.figure('kills of PostgreSQL', kills)
  await judge(place, report, made)
}

/** Compares the outcomes of the callers with the store. */
async function judge({ query }: ServerPlace, report: Report, made: readonly Made[]): Promise<void> {
  const stored = await query<{ note: string; count: number }>(
    'select note, count(*)::int as count from grants group by note'
  )
  const counts = new Map(stored.map(({ note, count }) => [note, count]))
  const of = (fits: (one: Made) => boolean, count: (found: number) => boolean): Made[] =>
    made.filter(one => fits(one) && !count(counts.get(one.key) ?? 0))
  const lost = of(
    ({ outcome }) => isMade(outcome),
    found => found > 0
  )
  const twice = of(
    () => true,
    found => found <= 1
  )
  const wrong = of(
    ({ outcome }) => !isMade(outcome),
    found => found === 0
  )
  const tries = made.reduce((sum, { outcome }) => sum + outcome.tries, 0)
  report.figure('changes', `${made.length} in ${tries} calls; ${spread(made.map(({ ms }) => ms))}`)
  const undecided = made.filter(({ outcome }) => !isMade(outcome))
  const codes = Map.groupBy(undecided, ({ outcome }) => `${outcome.status} ${codeOf(outcome.body)}`)
  if (undecided.length > 0)
    report.figure('refused', JSON.stringify([...codes].map(([code, { length }]) => [code, length])))
  report.check('each acknowledged change is in the store', lost.length === 0, lost.slice(0, 3))
  report.check('no key has made its change twice', twice.length === 0, {
    count: twice.length,
    of: twice.slice(0, 3)
  })
  report.check('the outcome of each key is known', undecided.length === 0, undecided.slice(0, 3))
  report.check('no refused change is in the store', wrong.length === 0, wrong.slice(0, 3))
  const audited = await query<{ count: number }>(
    `select count(distinct resource_id)::int as count from audit_entry where action = 'grant.create' and outcome = 'allow'`
  )
  const rows = stored.reduce((sum, { count }) => sum + count, 0)
  report.check(
    'each change has its entry in the audit log',
    audited[0]?.count === rows,
    `${audited[0]?.count} of ${rows}`
  )
}

async function addUser(servers: readonly Server[], user_id: string): Promise<string> {
  const reply = await decide(servers, {
    method: 'POST',
    path: '/v1/users',
    body: { user_id, display_name: user_id }
  })
  if (reply.status !== 201) throw new Error(`no user: ${JSON.stringify(reply)}`)
  return user_id
}

/** An impatient caller: it retries at another server while its first call may still run. */
async function grant({ servers }: ServerPlace, userId: string): Promise<Made> {
  const key = newId(Date.now())
  const body = {
    user_id: userId,
    client_id: '*',
    listen_port_start: 8000,
    listen_port_end: 8001,
    protocols: ['tcp'],
    note: key
  }
  const began = performance.now()
  const withinMs = 100 + Math.random() * 3_000
  const outcome = await decide(servers, { method: 'POST', path: '/v1/grants', body, key, withinMs })
  return { key, outcome, ms: performance.now() - began }
}
