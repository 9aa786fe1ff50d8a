// An engine that records its events, with real callers and real targets.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Test } from 'tap'
import type { DialRequest } from '../../agent/engine/dial-request.ts'
import type {
  Counters,
  Engine,
  EngineEvent,
  EngineOptions,
  EngineRule,
  EngineTarget,
  Resolved
} from '../../agent/engine/engine.ts'
import { spawnChild } from '../support/child-process.ts'
import { freePort } from '../support/ports.ts'

export type OpenEngine = (options: EngineOptions) => Engine
export type EngineCase = (t: Test, openEngine: OpenEngine) => Promise<void>

export interface EngineFixture {
  readonly engine: Engine
  readonly events: EngineEvent[]
  /** The current counters of the only rule. */
  counters(): Counters
  /** Waits for the rule's `closed` event. */
  finalCounters(ruleId: number): Promise<Counters>
}

interface FixtureOptions extends Pick<EngineOptions, 'deadPeerMs'> {
  readonly bind?: readonly string[]
  readonly names?: Readonly<Record<string, Resolved>>
  readonly onDial?: (request: DialRequest, engine: Engine) => void
}

/** Opens an engine. A 'resolve' event is answered at once from `names`; for other names it is never answered. */
export function engineFixture(
  t: Test,
  openEngine: OpenEngine,
  { bind = ['127.0.0.1', '::1'], names = {}, deadPeerMs, onDial }: FixtureOptions = {}
): EngineFixture {
  const events: EngineEvent[] = []
  const engine = openEngine({
    bind,
    ...(deadPeerMs !== undefined && { deadPeerMs }),
    onEvents(batch) {
      events.push(...batch)
      for (const event of batch) {
        const answer = event.kind === 'resolve' ? names[event.host] : undefined
        if (event.kind === 'resolve' && answer) engine.resolved(event.token, answer)
        if (event.kind === 'dial') onDial?.(event, engine)
      }
    }
  })
  t.teardown(() => engine.stop())
  const closedOf = (ruleId: number) =>
    events.find(event => event.kind === 'closed' && event.counters.ruleId === ruleId)
  return {
    engine,
    events,
    counters() {
      const [first] = engine.sample().rules
      if (!first) throw new TypeError('the engine has no rule')
      return first
    },
    async finalCounters(ruleId) {
      await until(() => closedOf(ruleId) !== undefined)
      const event = closedOf(ruleId)
      if (event?.kind !== 'closed') throw new TypeError(`rule ${ruleId} has not closed`)
      return event.counters
    }
  }
}

export const noGuards = { addressGuards: [], sourceLimits: [] } as const

let lastRuleId = 0

/** A rule on a free port. A number as target is a port of 127.0.0.1. */
export async function ruleTo(
  targets: readonly (number | EngineTarget)[],
  changes: Partial<EngineRule> = {}
): Promise<EngineRule> {
  const from = changes.from ?? (await freePort())
  return {
    id: ++lastRuleId,
    owner: 'ann',
    protocol: 'tcp',
    from,
    to: from,
    targets: targets.map(target =>
      typeof target === 'number' ? { host: '127.0.0.1', port: target } : target
    ),
    preferIpv6: false,
    balance: null,
    idleMs: 0,
    unansweredMs: 0,
    name: null,
    fallback: false,
    probeMs: 0,
    meters: [],
    flowCap: 1024,
    reportEnds: false,
    dialFrom: null,
    firstRead: null,
    preamble: null,
    replyCap: null,
    diverts: [],
    source: null,
    target: [],
    ...noGuards,
    ...changes
  }
}

/** Starts a server that passes each connection to `serve`. Returns its port. */
export async function openTarget(
  t: Test,
  serve: (socket: Socket) => void,
  { host = '127.0.0.1', port = 0 }: { host?: string; port?: number } = {}
): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    serve(socket)
  })
  server.listen(port, host)
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port // a TCP address
}

/** Returns a port of `host` that never answers: its process is stopped, and its accept queue is full. */
export async function openUnresponsiveTarget(t: Test, host: string): Promise<number> {
  const port = await freePort()
  const listen = 'require("net").createServer().listen({ port, host, backlog: 1 }, () => console.log())'
  const code = `const [port, host] = [${port}, '${host}']; ${listen}`
  const listener = spawnChild(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => listener.kill('SIGKILL'))
  await once(listener.stdout, 'data')
  listener.kill('SIGSTOP')
  for (let waiting = 0; waiting < 2; waiting++) await openCaller(t, port, host)
  return port
}

export const echo = (socket: Duplex): void => void socket.pipe(socket)

/** Connects; does not read yet. A reset may arrive before 'connect': then `endOf` returns it. */
export async function openCaller(t: Test, port: number, host = '127.0.0.1'): Promise<Socket> {
  const socket = connect({ port, host, allowHalfOpen: true })
  socket.on('error', () => {})
  t.teardown(() => socket.destroy())
  await once(socket, 'connect').catch(error => {
    if (error.code !== 'ECONNRESET') throw error
  })
  return socket
}

/** Returns all bytes until the FIN of the other side; a reset throws. The socket can still write. */
export async function collect(socket: Duplex): Promise<Buffer> {
  const chunks: Buffer[] = []
  socket.on('data', chunk => chunks.push(chunk)).resume()
  await once(socket, 'end')
  return Buffer.concat(chunks)
}

/** Waits until the other side ends the connection. Reads and drops all bytes before. */
export async function endOf(socket: Duplex): Promise<'fin' | 'reset'> {
  if (socket.errored) return 'reset'
  socket.resume()
  const { promise, resolve } = Promise.withResolvers<'fin' | 'reset'>()
  socket.once('end', () => resolve('fin'))
  socket.once('error', () => resolve('reset'))
  socket.once('close', () => resolve('reset'))
  return promise
}

/** Writes and returns the next chunk that comes back. */
export async function exchange(socket: Duplex, text: string): Promise<string> {
  if (socket.errored) throw socket.errored
  socket.resume().write(text)
  const [chunk] = await once(socket, 'data')
  socket.pause()
  return String(chunk)
}

/** Polls, because real sockets have no fake clock. Ends only with the test's timeout. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(resolve => setTimeout(resolve, 5))
}

export const portCounters = ({ ports: [first] }: Counters) => {
  if (!first) throw new TypeError('the rule has no port')
  return first
}

/** Opens a rule to an echo target. */
export async function openEchoRule(
  t: Test,
  engine: Engine,
  changes: Partial<EngineRule> = {}
): Promise<EngineRule> {
  const rule = await ruleTo([await openTarget(t, echo)], changes)
  await engine.open(rule)
  return rule
}

/** Waits until the value has not changed for 200 ms: no event says that bytes have stopped flowing. */
export async function untilStable(value: () => number): Promise<void> {
  for (let before = -1; before !== value(); ) {
    before = value()
    await new Promise(resolve => setTimeout(resolve, 200))
  }
}

export const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

export const firstReadMs = 3000 // a caller that sends nothing for this long is reset
const maxFirstReads = 1024

export interface FirstReads {
  readonly waiting: readonly Socket[] // and one more
  readonly end: 'fin' | 'reset' // of the first that ends
  readonly rejected: Readonly<Record<string, number>>
}

/** Opens as many silent callers as may wait for first bytes, and one more. On a slow machine, tries until all are in time. */
export async function fillFirstReads(
  t: Test,
  port: number,
  { counters }: Pick<EngineFixture, 'counters'>
): Promise<FirstReads> {
  for (;;) {
    const before = counters().rejected
    const begunAt = performance.now()
    const waiting = await Promise.all(Array.from({ length: maxFirstReads + 1 }, () => openCaller(t, port)))
    const end = await Promise.race(waiting.map(endOf))
    const rejected = Object.fromEntries(
      Object.entries(counters().rejected).map(([reason, count]) => [reason, count - (before[reason] ?? 0)])
    )
    if (performance.now() - begunAt < firstReadMs - 100) return { waiting, end, rejected }
    for (const caller of waiting) caller.resetAndDestroy()
    await until(() => waiting.every(({ closed }) => closed))
    await untilStable(() => Object.values(counters().rejected).reduce((sum, count) => sum + count, 0))
  }
}
