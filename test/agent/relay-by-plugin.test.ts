// A plugin that dials targets by `call.dial` and pipes their bytes, in a whole agent on each engine.

import t, { type Test } from 'tap'
import type { AgentPlugin } from '../../agent/plugin.ts'
import { openPortableEngine } from '../../agent/portable-engine/portable-engine.ts'
import type { Resolver } from '../../agent/resolver/resolver.ts'
import rules from '../../plugins/rules/agent.ts'
import { messages } from '../../plugins/rules/wire.ts'
import {
  collect,
  echo,
  endOf,
  exchange,
  type OpenEngine,
  openCaller,
  openTarget
} from '../engine/engine-fixture.ts'
import { nativeUnderTest } from '../engine/native-under-test.ts'
import { freePort } from '../support/ports.ts'
import { scriptedServer } from './scripted-server.ts'
import { pushRule, startTestAgent } from './test-agent.ts'

const relay: AgentPlugin = {
  name: 'relay',
  agent: '^1.7.0',
  plan(draft) {
    draft.targets = draft.targets.map(target => ({ ...target, dialer: 'relay' }))
  },
  async dial({ rule, planned, offset, signal }, call) {
    const { owner, preferIpv6 } = rule
    const target = { host: planned.host, port: planned.port + offset }
    const dialed = await call.dial(target, { owner, preferIpv6, signal })
    if ('failure' in dialed) return { ok: false, reason: dialed.failure, isRefusal: dialed.isRefusal }
    const { socket, address } = dialed
    return {
      ok: true,
      address,
      port: target.port,
      carry(stream) {
        stream.pipe(socket).pipe(stream)
        stream.on('error', () => socket.resetAndDestroy())
        socket.on('error', error => stream.destroy(error))
      },
      cancel: () => void socket.destroy()
    }
  }
}

const resolver: Resolver = { resolve: async host => ({ ok: true, addresses: [host] }) }

async function openRule(
  t: Test,
  openEngine: OpenEngine,
  target: { host: string; port: number },
  listen?: number
) {
  const server = await scriptedServer(t, { messages })
  startTestAgent(t, { dir: t.testdir(), server, plugins: [rules, relay], openEngine, resolver })
  const connection = await server.next()
  const port = listen ?? (await freePort())
  await pushRule(connection, 'rule-1', 1, port, false, target)
  return port
}

function testRelay(engine: string, openEngine: OpenEngine): void {
  t.test(`${engine}: callers reach a target through the plugin, with their ends and resets`, async t => {
    const ends: Promise<string>[] = []
    const target = await openTarget(t, socket => {
      ends.push(endOf(socket))
      echo(socket)
    })
    const port = await openRule(t, openEngine, { host: '127.0.0.1', port: target })
    const caller = await openCaller(t, port)
    caller.end('hello')
    t.equal(String(await collect(caller)), 'hello')
    t.equal(await ends[0], 'fin')
    const other = await openCaller(t, port)
    t.equal(await exchange(other, 'hello'), 'hello')
    other.resetAndDestroy()
    t.equal(await ends[1], 'reset')
  })

  t.test(`${engine}: the reset of a target, one that refuses and a loop reset the caller`, async t => {
    const resetting = await openTarget(t, socket => socket.once('data', () => socket.resetAndDestroy()))
    const caller = await openCaller(t, await openRule(t, openEngine, { host: '127.0.0.1', port: resetting }))
    caller.write('hello')
    t.equal(await endOf(caller), 'reset')
    const closed = { host: '127.0.0.1', port: await freePort() }
    t.equal(await endOf(await openCaller(t, await openRule(t, openEngine, closed))), 'reset')
    const own = await freePort()
    await openRule(t, openEngine, { host: '127.0.0.1', port: own }, own)
    t.equal(await endOf(await openCaller(t, own)), 'reset')
  })
}

testRelay('portable', openPortableEngine)
const native = nativeUnderTest()
if (native.ok) testRelay('native', native.openEngine)
