// Breaks servers, agents and their database at random, and promotes a standby that is behind. Every call is logged; the
// log is then compared with the state that callers saw and agents counted.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { PostgresPlace } from '../../kernel/store/sql/database.ts'
import { type SettableClock, settableClock } from '../support/settable-clock.ts'
import { allConnected, distribution, type Fleet, startFleet, whereAll } from './agents.ts'
import type { Report } from './checks.ts'
import { breakOne, databaseVictim, fleetVictim, serverVictim, supervise, type Victim } from './faults.ts'
import { finalState } from './final-state.ts'
import { judge } from './judge.ts'
import { requireOneSession } from './kill-server.ts'
import { type Link, openLink } from './link.ts'
import { promote, recordRestored } from './promotion.ts'
import { firstValue, runRegisters } from './register.ts'
import { runRevocations } from './revocations.ts'
import { isWritten, type Line, openRecorder, type Recorder, readRecord, recorded } from './run-log.ts'
import { oneOf, type ServerPlace, type Teardown } from './server-place.ts'

interface Options {
  readonly minutes: number
  readonly agents: number // in three processes
  readonly registers: number
  readonly log: string // a file, or '' for one that is deleted unless a check fails
}

const calmMs = 4_000
const mostMs = 15_000 // longest fault: longer than the lease of a server
const databaseName = 'database'
const agentMs = 30_000 // after this time without data an agent leaves

/** Makes the links between servers and their database, and their clocks. Must exist before servers start. */
export function chaosOf(ids: readonly string[]) {
  const links = new Map<string, Link>()
  const clocks = new Map<string, SettableClock>()
  return {
    databaseEnv(t: Teardown) {
      const clock = settableClock(t)
      clocks.set(databaseName, clock)
      return clock.env
    },
    async ready({ url }: PostgresPlace, t: Teardown): Promise<void> {
      for (const id of ids) {
        links.set(id, await linkTo(Number(new URL(url).port), t))
        clocks.set(id, settableClock(t))
      }
    },
    urlOf: (id: string, url: string): string =>
      Object.assign(new URL(url), { port: of(links, id).port }).href,
    envOf: (id: string) => of(clocks, id).env,
    run: (place: ServerPlace, report: Report, options: Options) =>
      chaos(place, report, { ...options, links, clocks })
  }
}

async function linkTo(port: number, t: Teardown): Promise<Link> {
  const link = await openLink()
  t.teardown(link.end)
  await link.lead(port)
  return link
}

function of<T>(all: ReadonlyMap<string, T>, id: string): T {
  const found = all.get(id)
  if (!found) throw new RangeError(`there is no ${id}`)
  return found
}

interface Means extends Options {
  readonly links: ReadonlyMap<string, Link> // to the database, by server
  readonly clocks: ReadonlyMap<string, SettableClock> // of servers, and of the database
}

async function chaos(bare: ServerPlace, report: Report, options: Means): Promise<void> {
  let isRight = false
  const dir = mkdtempSync(join(tmpdir(), 'sluice-chaos-')) // stays, with all logs, if a check fails
  bare.teardown(() => isRight && rmSync(dir, { recursive: true }))
  const file = options.log === '' ? join(dir, 'calls.jsonl') : options.log
  const recorder = openRecorder(file)
  const place = recordedPlace(bare, recorder)
  const { fleets, victims } = await populate(place, dir, options)
  const clientIds = fleets.flatMap(({ agents }) => agents.map(({ clientId }) => clientId))
  const ruleIds = await rulesOf(place, clientIds)
  await Promise.all(fleets.map(fleet => fleet.count(true)))
  const [registers, revocations] = [
    runRegisters(place, ruleIds.slice(0, options.registers)),
    await runRevocations(place)
  ]
  const watches = place.servers.map(server => supervise(server, recorder))
  place.teardown(async () => {
    for (const watch of watches) watch.end()
    for (const { id, output } of place.servers) writeFileSync(join(dir, `server-${id}.log`), output())
    await Promise.all([registers.end(), revocations.end()])
  })
  await breakAll(place, victims, { ...options, recorder, clientIds: clientIds.slice(-3) })
  await Promise.all([registers.end(), revocations.end()])

  const where = whereAll(fleets)
  report.figure('at the end', distribution(await allConnected({ where }, agentMs * 3)))
  recorder.add(await finalState(place, fleets))
  isRight = judgeLog(readRecord(file), report)
  await requireOneSession(place, report, clientIds.length)
  if (options.log !== '' || !isRight) report.figure('log of all calls', file)
  if (!isRight) report.figure('logs of the servers', dir)
}

const recordedPlace = (place: ServerPlace, recorder: Recorder): ServerPlace => ({
  ...place,
  servers: place.servers.map(server => recorded(server, recorder)),
  get cluster() {
    return place.cluster // a different cluster after the failover
  }
})

/** Reports all findings; returns true if there are none. */
export function judgeLog(lines: readonly Line[], report: Report): boolean {
  const faults = lines
    .filter(line => line.kind === 'fault')
    .map(({ fault, of }) => `${fault} (${of.split(' ')[0]})`)
  const counts = [...Map.groupBy(faults, name => name)].map(([name, { length }]) => `${name} ${length}`)
  report.figure('faults', counts.toSorted().join(', '))
  const calls = lines.filter(line => line.kind === 'call')
  const of = (wanted: string): number => calls.filter(({ method }) => method === wanted).length
  report.figure('calls', `${calls.length}: ${of('PATCH')} write attempts, ${of('GET')} reads`)
  for (const promoted of lines.filter(line => line.kind === 'promoted')) {
    const lost = calls.filter(
      one => isWritten(one) && one.began > promoted.began && one.ended < promoted.killed
    )
    report.figure('acknowledged while the standby was behind', `${lost.length} writes`)
  }
  const verdicts = judge(lines)
  for (const { check, found } of verdicts)
    report.check(check, found.length === 0, { count: found.length, of: found.slice(0, 5) })
  return verdicts.every(({ found }) => found.length === 0)
}

/** Starts the agents. Returns them with everything that may break. */
async function populate(place: ServerPlace, dir: string, { agents, links, clocks }: Means) {
  const servers: Victim[] = []
  const ports = new Map<number, string>()
  for (const server of place.servers) {
    const way = await linkTo(server.controlPort, place)
    ports.set(way.port, server.id)
    const clock = of(clocks, server.id)
    const database = of(links, server.id)
    servers.push(serverVictim(server, { clock, database, agents: way }))
  }
  const fleets: Fleet[] = []
  const processes: Victim[] = []
  const count = Math.ceil(agents / 3)
  for (const at of [0, 1, 2]) {
    const clock = settableClock(place)
    const stateFile = join(dir, `agents-${at}.jsonl`)
    const fleet = await startFleet(place, count, { first: at * count, ports, env: clock.env, stateFile })
    fleets.push(fleet)
    processes.push(fleetVictim(`agents ${at}`, fleet, clock))
  }
  return {
    fleets,
    victims: { servers, all: [...servers, ...processes, databaseVictim(place, of(clocks, databaseName))] }
  }
}

async function rulesOf(
  { servers: [server] }: ServerPlace,
  clientIds: readonly string[]
): Promise<readonly string[]> {
  const ids: string[] = []
  for (const client of clientIds) {
    const targets = [{ host: '127.0.0.1', port: firstValue }]
    const body = { client, protocol: 'tcp', listen_port: 8_000, targets }
    const reply = await server?.call({ method: 'POST', path: '/v1/rules', body })
    if (reply?.status !== 201) throw new Error(`no rule: ${JSON.stringify(reply)}`)
    ids.push(String(reply.body['rule_id']))
  }
  return ids
}

interface Breaking {
  readonly minutes: number
  readonly links: ReadonlyMap<string, Link>
  readonly recorder: Recorder
  readonly clientIds: readonly string[]
}

/** Breaks one or two at a time. Halfway, a standby takes over. */
async function breakAll(
  place: ServerPlace,
  { servers, all }: { readonly servers: readonly Victim[]; readonly all: readonly Victim[] },
  { minutes, links, recorder, clientIds }: Breaking
): Promise<void> {
  const standby = await place.cluster.standby()
  place.teardown(standby.remove)
  const someMs = (): number => Math.random() * mostMs
  const breakUntil = async (endAt: number): Promise<void> => {
    while (performance.now() < endAt) {
      await pause(Math.random() * calmMs)
      const some = all.toSorted(() => Math.random() - 0.5).slice(0, oneOf([1, 1, 2]))
      await Promise.all(some.map(victim => breakOne(victim, someMs(), recorder)))
    }
  }
  const halfMs = minutes * 30_000
  const middleAt = performance.now() + halfMs
  await breakUntil(middleAt)
  const [promoted] = await Promise.all([
    promote(place, { standby, recorder, links: [...links.values()], clientIds }),
    breakOne(oneOf(servers), someMs(), recorder)
  ])
  await recordRestored(place, promoted, recorder)
  await breakUntil(middleAt + halfMs)
}
