// Servers are killed and paused, and cut off their database, by chance. What callers saw is checked afterwards.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '../support/ports.ts'
import { allConnected, distribution, startFleet } from './agents.ts'
import type { Report } from './checks.ts'
import { requireOneSession } from './killed.ts'
import { oneOf, type Place, type Server, until } from './place.ts'
import { firstValue, type Register, runRegisters, unexplained } from './register.ts'

interface Options {
  readonly minutes: number
  readonly agents: number
  readonly registers: number
  readonly forwarders: ReadonlyMap<string, Forwarder>
}

export interface Forwarder {
  readonly port: number
  begin(to: number): Promise<void>
  signal(name: NodeJS.Signals): void
}

const calmMs = 4_000
const mostMs = 15_000 // of a fault: longer than the lease of a server
const agentMs = 30_000 // until an agent that hears nothing leaves

/** One that does not run yet. */
export async function forwarderOf(): Promise<Forwarder> {
  const port = await freePort()
  let child: ChildProcess | null = null
  return {
    port,
    async begin(to) {
      child = spawn(process.execPath, [join(import.meta.dirname, 'forwarder.ts'), String(port), String(to)], {
        stdio: ['ignore', 'pipe', 'inherit']
      })
      if (child.stdout) await once(child.stdout, 'data')
    },
    signal: name => void child?.kill(name)
  }
}

export async function chaos(place: Place, report: Report, options: Options): Promise<void> {
  const fleet = await startFleet(place, options.agents)
  const ruleIds = await rulesOf(
    place,
    fleet.agents.slice(0, options.registers).map(({ clientId }) => clientId)
  )
  const running = runRegisters(place, ruleIds)
  const faults = new Map<string, number>()
  const endAt = performance.now() + options.minutes * 60_000
  while (performance.now() < endAt) {
    await pause(Math.random() * calmMs)
    const some = place.servers.toSorted(() => Math.random() - 0.5).slice(0, oneOf([1, 1, 2]))
    await Promise.all(some.map(server => fault(server, options.forwarders, faults)))
  }
  await running.end()
  report.figure('faults', [...faults].map(([name, count]) => `${name} ${count}`).join(', '))
  await judge(place, report, running.registers)
  report.figure('at the end', distribution(await allConnected(fleet, agentMs * 3)))
  await requireOneSession(place, report, fleet.agents.length)
}

async function rulesOf(
  { servers: [server] }: Place,
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

async function fault(
  server: Server,
  forwarders: ReadonlyMap<string, Forwarder>,
  faults: Map<string, number>
): Promise<void> {
  const name = oneOf(['kill', 'pause', 'partition'])
  faults.set(name, (faults.get(name) ?? 0) + 1)
  const forMs = Math.random() * mostMs
  if (name === 'kill') {
    server.process().signal('SIGKILL')
    await server.process().exit
    await pause(forMs / 3)
    await server.restart()
    return
  }
  const signal = (of: NodeJS.Signals): void =>
    name === 'pause' ? server.process().signal(of) : forwarders.get(server.id)?.signal(of)
  signal('SIGSTOP')
  await pause(forMs)
  signal('SIGCONT')
}

async function judge({ query }: Place, report: Report, registers: readonly Register[]): Promise<void> {
  const writes = registers.flatMap(({ writes }) => writes)
  const reads = registers.flatMap(({ reads }) => reads)
  const refused = registers.flatMap(({ refused }) => refused)
  report.figure('registers', `${registers.length}, with ${writes.length} writes and ${reads.length} reads`)
  if (refused.length > 0)
    report.figure(
      'writes that were refused',
      [...Map.groupBy(refused, code => code)].map(([code, { length }]) => `${code}: ${length}`).join(', ')
    )
  const bad = registers.flatMap(unexplained)
  report.check('no read goes behind an acknowledged write or an earlier read', bad.length === 0, {
    count: bad.length,
    of: bad.slice(0, 3)
  })

  const ids = registers.map(({ ruleId }) => ruleId)
  const rows = await query<{ id: string; targets: string }>(
    'select id, targets from rules where id = any($1)',
    [ids]
  )
  const stored = new Map(
    rows.map(({ id, targets }) => [id, (JSON.parse(targets) as { port: number }[])[0]?.port])
  )
  const behind = registers.filter(
    ({ ruleId, writes }) => (writes.findLast(isAcknowledged)?.value ?? 0) > (stored.get(ruleId) ?? 0)
  )
  report.check(
    'the last acknowledged write of each is in the store',
    behind.length === 0,
    behind.map(({ ruleId }) => ruleId)
  )

  const audited = await query<{ id: string; count: number }>(
    `select resource_id as id, count(*)::int as count from audit_entry
     where action = 'rule.patch' and changes is not null and resource_id = any($1) group by 1`,
    [ids]
  )
  const entries = new Map(audited.map(({ id, count }) => [id, count]))
  const wrong = registers
    .map(({ ruleId, writes }) => ({
      ruleId,
      made: writes.filter(isAcknowledged).length,
      entries: entries.get(ruleId) ?? 0
    }))
    .filter(({ made, entries }) => made !== entries)
  report.check(
    'the audit log has one entry for each acknowledged write',
    wrong.length === 0,
    wrong.slice(0, 5)
  )
  const open = await until(
    () => query(`select id, state from rules where id = any($1) and state <> 'active'`, [ids]),
    rows => rows.length === 0,
    { withinMs: 90_000 }
  )
  report.check('all rules are in force at the end', open.length === 0, open.slice(0, 5))
}

const isAcknowledged = ({ endedAt }: { readonly endedAt: number }): boolean => Number.isFinite(endedAt)
