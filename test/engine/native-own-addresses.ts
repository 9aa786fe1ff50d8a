// node native-own-addresses.ts: runs in a separate network namespace. Dials a foreign address at the port of its wildcard
// listener, before and after the host gets that address. Sends the refusals, and how often addresses were listed.
import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import t from 'tap'
import { endOf, engineFixture, openCaller, ruleTo, until } from './engine-fixture.ts'
import { nativeUnderTest } from './native-under-test.ts'

const native = nativeUnderTest()
const address = '10.77.0.1'
const lists = (): number => statSync(process.env['LISTS'] ?? '', { throwIfNoEntry: false })?.size ?? 0

t.test('equal ports', async t => {
  if (!native.ok) throw new Error(native.reason)
  const { openEngine } = native
  const { engine, counters } = engineFixture(t, options => openEngine({ ...options, threads: 1 }), {
    bind: ['0.0.0.0']
  })
  const rule = await ruleTo([])
  await engine.open({ ...rule, targets: [{ host: address, port: rule.from }] })
  const before = lists()
  for (let i = 0; i < 50; i++) await endOf(await openCaller(t, rule.from))
  const foreign = { lists: lists() - before, rejected: counters().rejected }
  spawnSync('ip', ['address', 'add', `${address}/32`, 'dev', 'lo'])
  await endOf(await openCaller(t, rule.from))
  await until(() => counters().rejected['loop'] !== undefined)
  process.send?.({ seen: { foreign, own: { lists: lists() - before, rejected: counters().rejected } } })
})
