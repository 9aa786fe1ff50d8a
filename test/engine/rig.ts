// An engine with its events kept, real callers and real targets: what the cases are played with.

import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'
import type {
  Counters,
  Engine,
  EngineEvent,
  EngineOptions,
  EngineRule,
  EngineTarget,
  Resolved
} from '../../agent/engine.ts'
import { freePort } from '../support/ports.ts'

export type OpenEngine = (options: EngineOptions) => Engine
export type Case = (t: Test, openEngine: OpenEngine) => Promise<void>

export interface Rig {
  readonly engine: Engine
  readonly events: EngineEvent[]
  /** What `sample` says of the only rule. */
  counters(): Counters
  /** What `closed` said. */
  final(ruleId: number): Promise<Counters>
}

/** `names` answers 'resolve' at once; a name that is not in it stays unanswered. */
export function rig(
  t: Test,
  openEngine: OpenEngine,
  { bind = ['127.0.0.1', '::1'], names = {} }: { bind?: string[]; names?: Record<string, Resolved> } = {}
): Rig {
  const events: EngineEvent[] = []
  const engine = openEngine({
    bind,
    onEvents(batch) {
      events.push(...batch)
      for (const event of batch) {
        const answer = event.kind === 'resolve' ? names[event.host] : undefined
        if (event.kind === 'resolve' && answer) engine.resolved(event.token, answer)
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
    async final(ruleId) {
      await until(() => closedOf(ruleId) !== undefined)
      const event = closedOf(ruleId)
      if (event?.kind !== 'closed') throw new TypeError(`rule ${ruleId} has not closed`)
      return event.counters
    }
  }
}

let lastRuleId = 0

/** A rule on a free port to the targets: ports of 127.0.0.1, or whole targets. */
export async function ruleTo(
  targets: readonly (number | EngineTarget)[],
  changes: Partial<EngineRule> = {}
): Promise<EngineRule> {
  const from = changes.from ?? (await freePort())
  return {
    id: ++lastRuleId,
    protocol: 'tcp',
    from,
    to: from,
    targets: targets.map(target =>
      typeof target === 'number' ? { host: '127.0.0.1', port: target } : target
    ),
    preferIpv6: false,
    idleMs: 0,
    name: null,
    fallback: false,
    probeMs: 0,
    meters: [],
    flowCap: 1024,
    source: null,
    target: [],
    ...changes
  }
}

/** A server that hands each connection to `serve`; gives its port. */
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
  return (server.address() as AddressInfo).port // of a TCP server
}

/** A port of `host` that never answers: the process that listens there is asleep, and its queue is full. */
export async function openSilent(t: Test, host: string): Promise<number> {
  const port = await freePort()
  const listen = 'require("net").createServer().listen({ port, host, backlog: 1 }, () => console.log())'
  const code = `const [port, host] = [${port}, '${host}']; ${listen}`
  const sleeper = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => sleeper.kill('SIGKILL'))
  await once(sleeper.stdout, 'data')
  sleeper.kill('SIGSTOP')
  for (let waiting = 0; waiting < 2; waiting++) await call(t, port, host)
  return port
}

export const echo = (socket: Socket): void => void socket.pipe(socket)

/** A caller; connected, not reading yet. A reset may come before the connection is seen: `endOf` tells it. */
export async function call(t: Test, port: number, host = '127.0.0.1'): Promise<Socket> {
  const socket = connect({ port, host, allowHalfOpen: true })
  socket.on('error', () => {})
  t.teardown(() => socket.destroy())
  await once(socket, 'connect').catch(error => {
    if (error.code !== 'ECONNRESET') throw error
  })
  return socket
}

/** All bytes up to the end; a reset throws. The socket stays open for what it still has to say. */
export async function collect(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = []
  socket.on('data', chunk => chunks.push(chunk)).resume()
  await once(socket, 'end')
  return Buffer.concat(chunks)
}

/** How the connection ended for this side: with FIN, or reset. Reads and drops what comes before. */
export async function endOf(socket: Socket): Promise<'fin' | 'reset'> {
  if (socket.errored) return 'reset'
  socket.resume()
  const { promise, resolve } = Promise.withResolvers<'fin' | 'reset'>()
  socket.once('end', () => resolve('fin'))
  socket.once('error', () => resolve('reset'))
  socket.once('close', () => resolve('reset'))
  return promise
}

/** Says something and gives what comes back. */
export async function answer(socket: Socket, words: string): Promise<string> {
  socket.resume().write(words)
  const [chunk] = await once(socket, 'data')
  socket.pause()
  return String(chunk)
}

/** Real sockets have no clock to move: looks until it is so; the test's own time-out is the limit. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise(resolve => setTimeout(resolve, 5))
}

export const portCounters = ({ ports: [first] }: Counters) => {
  if (!first) throw new TypeError('a rule has ports')
  return first
}

/** A rule to a target that says everything again. */
export async function openEcho(t: Test, engine: Engine, idleMs = 0): Promise<EngineRule> {
  const rule = await ruleTo([await openTarget(t, echo)], { idleMs })
  await engine.open(rule)
  return rule
}

/** Until the figure has not moved for a while: nothing tells that bytes have stopped flowing. */
export async function standsStill(figure: () => number): Promise<void> {
  for (let before = -1; before !== figure(); ) {
    before = figure()
    await new Promise(resolve => setTimeout(resolve, 200))
  }
}

export const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
