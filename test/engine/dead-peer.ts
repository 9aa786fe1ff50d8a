// Runs in its own network namespace. A peer of the engine vanishes in the middle of a transfer.
import { execFileSync } from 'node:child_process'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { EngineTarget } from '../../agent/engine/engine.ts'
import { openPortableEngine } from '../../agent/portable-engine/portable-engine.ts'
import { spawnChild } from '../support/child-process.ts'
import {
  type EngineFixture,
  engineFixture,
  openCaller,
  openTarget,
  portCounters,
  ruleTo,
  until,
  untilStable
} from './engine-fixture.ts'
import { nativeUnderTest } from './native-under-test.ts'

const native = nativeUnderTest()
const engines = { portable: openPortableEngine, ...(native.ok && { native: native.openEngine }) }
const ends: Record<string, string> = {}

type Host = Awaited<ReturnType<typeof openHost>>

/** Starts a host that a cable connects to this one, at 10.99.0.1. */
async function openHost(t: Test, reads: string) {
  const script = join(import.meta.dirname, 'vanishing-host.ts')
  const child = spawnChild('unshare', ['-n', process.execPath, script], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { ...process.env, READS: reads }
  })
  t.teardown(() => child.kill('SIGKILL'))
  const heard: unknown[] = []
  child.on('message', ({ host }: { readonly host?: unknown }) => {
    if (host !== undefined) heard.push(host)
  })
  const next = async (): Promise<unknown> => {
    await until(() => heard.length > 0)
    return heard.shift()
  }
  await next()
  const ip = (command: string) => execFileSync('ip', command.split(' '))
  ip(`link add cable type veth peer name host netns ${child.pid}`)
  ip('addr add 10.99.0.1/24 dev cable')
  ip('link set cable up')
  t.teardown(() => ip('link del cable'))
  child.send('joins')
  await next()
  return { next, do: (command: string) => void child.send(command) }
}

/** Sends for ever, as fast as the other side reads. */
function flood(socket: Socket): void {
  const write = () => {
    while (!socket.destroyed && socket.write(Buffer.alloc(65_536)));
  }
  socket.on('drain', write)
  write()
}

/** The data under way to the peer when it vanishes, or later. */
const traffics = ['flood', 'a closed window', 'one byte'] as const

for (const [name, openEngine] of Object.entries(engines))
  for (const role of ['caller', 'target'] as const)
    for (const traffic of traffics)
      t.test(`${name}: a ${role} that vanishes, with ${traffic} to it under way`, async t => {
        const host = await openHost(t, traffic === 'a closed window' ? 'no' : 'yes')
        const fixture = engineFixture(t, openEngine, { bind: ['0.0.0.0'], deadPeerMs: 1_000 })
        const sender = await connectHost(t, host, role, fixture)
        if (traffic === 'one byte') sender.write('x')
        else flood(sender)
        t.equal(await host.next(), 'served')
        if (traffic === 'a closed window') await untilStable(() => bytesOf(fixture))

        host.do('vanishes')

        t.equal(await host.next(), 'gone')
        if (traffic === 'one byte') sender.write('x')
        await until(() => portCounters(fixture.counters()).active === 0)
        await fixture.engine.stop()
        const ended = fixture.events.flatMap(event => (event.kind === 'connections-ended' ? event.ended : []))
        ends[`${name}, ${role}, ${traffic}`] = ended[0]?.end ?? 'none'
      })

const bytesOf = ({ counters }: EngineFixture): number => {
  const { bytesIn, bytesOut } = portCounters(counters())
  return bytesIn + bytesOut
}

/** Connects the host as caller or target. Returns the socket at the other end of the engine. */
async function connectHost(t: Test, host: Host, role: 'caller' | 'target', { engine }: EngineFixture) {
  const { promise, resolve } = Promise.withResolvers<Socket>()
  const open = async (target: EngineTarget) => {
    const rule = await ruleTo([target], { reportEnds: true })
    await engine.open(rule)
    return rule.from
  }
  if (role === 'caller') {
    const port = await openTarget(t, resolve)
    host.do(`calls:${await open({ host: '127.0.0.1', port })}`)
  } else {
    host.do('listens')
    resolve(await openCaller(t, await open({ host: '10.99.0.2', port: Number(await host.next()) })))
  }
  return promise
}

t.teardown(() => process.send?.({ seen: ends }))
