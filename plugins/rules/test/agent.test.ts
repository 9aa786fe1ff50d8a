// The agent's half of the plugin: a push becomes a managed object, and the object a rule of the engine.
import t from 'tap'
import { ManagedObjects } from '../../../agent/objects/managed-objects.ts'
import { objectHandlers } from '../../../agent/objects/object-handlers.ts'
import { openObjectStore } from '../../../agent/objects/object-store.ts'
import type { AgentApplyResult, AgentCall, AgentObject, RuleSpec } from '../../../agent/plugin.ts'
import { openStateDatabase } from '../../../agent/state/state-database.ts'
import { openCodec } from '../../../kernel/wire/codec.ts'
import { bindHandlers } from '../../../kernel/wire/message.ts'
import { fakeClock } from '../../../kit/fake-clock.ts'
import agent from '../agent.ts'
import { maxClosed, messages, RulePush, RuleRemove, Settings } from '../wire.ts'

const codec = openCodec(messages)
const applied: AgentApplyResult = { status: 'applied', revision: 3 }

/** Records the calls of the agent's half of the plugin. */
function testCall(result: AgentApplyResult = applied) {
  const seen = {
    puts: [] as (readonly [AgentObject, string])[],
    drops: [] as unknown[],
    opened: [] as RuleSpec[],
    settings: [] as object[]
  }
  const call = {
    codec,
    clock: fakeClock(),
    objects: {
      put: async (object: AgentObject, retry: string) => {
        seen.puts.push([object, retry])
        return result
      },
      drop: async (object: object, removal: string) => {
        seen.drops.push([object, removal])
        return result
      }
    },
    rules: {
      open: async (spec: RuleSpec) => void seen.opened.push(spec),
      close: async () => ({ done: Promise.resolve() }),
      find: () => undefined,
      closed: () => new Map(),
      configure: (settings: object) => void seen.settings.push(settings)
    }
  } as unknown as AgentCall // only the members that the plugin uses
  const receive = async (message: { readonly name: string }, bytes: Uint8Array) =>
    (await bindHandlers(agent.kinds.flatMap(objectHandlers), () => call)
      .find(({ name }) => name === message.name)
      ?.run(codec, bytes)) ?? null
  return { seen, call, receive }
}

const push = {
  rule_id: 'r',
  revision: 3,
  owner: 'ada',
  protocol: 'tcp' as const,
  listen_from: 80,
  listen_to: 80,
  targets: [
    { host: 'last.example', port: 1, priority: 9 },
    { host: 'first.example', port: 2, priority: 0 },
    { host: 'second.example', port: 3, priority: 0 }
  ],
  prefer_ipv6: true,
  fields: { x: new Uint8Array([1]) },
  retry: true
}

t.test('a push is saved unchanged, and rules are compared without revision and retry', async t => {
  const { seen, receive } = testCall()
  const bytes = codec.encode(RulePush, push)

  const answer = await receive(RulePush, bytes)
  await receive(RulePush, codec.encode(RulePush, { ...push, revision: 4, retry: false }))
  await receive(RulePush, codec.encode(RulePush, { ...push, owner: 'bob' }))

  t.same(answer && codec.decode(RulePush.response, answer.body), { rule_id: 'r', revision: 3 })
  const [first, second, third] = seen.puts
  t.match(first, [{ kind: 'rule', id: 'r', revision: 3 }, 'retry'])
  t.match(second, [{ kind: 'rule', id: 'r', revision: 4 }, 'once'])
  t.equal(Buffer.compare(first![0].bytes!, bytes), 0)
  t.ok(agent.kinds[0]?.isEqual?.(first![0].value, second![0].value))
  t.notOk(agent.kinds[0]?.isEqual?.(first![0].value, third![0].value))
})

t.test('a push of the same rule does not reopen a rule that an older agent saved', async t => {
  const db = openStateDatabase(t.testdir())
  t.teardown(() => db.close())
  const store = openObjectStore(db)
  const { seen, call } = testCall()
  const own = { ...call, clock: fakeClock() }
  const objects = new ManagedObjects({ ...own, store, kinds: () => agent.kinds, call: () => own })
  const bytes = codec.encode(RulePush, { ...push, revision: 0, retry: false }) // as older agents saved it
  store.save({ kind: 'rule', id: 'r', revision: 2, bytes })
  await objects.restore()
  const [onPush] = bindHandlers(agent.kinds.flatMap(objectHandlers), () => ({ ...own, objects }))

  await onPush?.run(codec, codec.encode(RulePush, push))
  t.equal(seen.opened.length, 1)
  t.match(store.all(), [{ id: 'r', revision: 3 }])

  await onPush?.run(codec, codec.encode(RulePush, { ...push, revision: 4, owner: 'bob' }))
  t.equal(seen.opened.length, 2)
})

t.test('a saved push becomes a rule of the engine, with targets sorted by priority', async t => {
  const { seen, call, receive } = testCall()
  await receive(RulePush, codec.encode(RulePush, push))

  await agent.kinds[0]?.apply('r', seen.puts[0]![0].value, call)

  t.match(seen.opened, [
    {
      id: 'r',
      owner: 'ada',
      protocol: 'tcp',
      from: 80,
      to: 80,
      preferIpv6: true,
      targets: [
        { host: 'first.example', port: 2 },
        { host: 'second.example', port: 3 },
        { host: 'last.example', port: 1 }
      ],
      fields: { x: Uint8Array.of(1) }
    }
  ])
})

t.test('a refusal is answered with its code', async t => {
  const { receive } = testCall({ status: 'refused', revision: 3, code: 'port_in_use', message: 'taken' })

  await t.rejects(receive(RulePush, codec.encode(RulePush, push)), { code: 'port_in_use', message: 'taken' })
})

t.test('a removal drains or cuts the rule, as the server requests', async t => {
  const { seen, receive } = testCall()

  const answer = await receive(
    RuleRemove,
    codec.encode(RuleRemove, { rule_id: 'r', revision: 3, removal: 'cut' })
  )

  t.same(seen.drops, [[{ kind: 'rule', id: 'r', revision: 3 }, 'cut']])
  t.same(answer && codec.decode(RuleRemove.response, answer.body), { rule_id: 'r', revision: 3 })
})

t.test('drain and idle times in Welcome configure the rules', async t => {
  const { seen, call } = testCall()
  const bytes = codec.encode(Settings, { drain_timeout_secs: 30, tcp_idle_timeout_secs: 0 })

  const { signal } = new AbortController()
  agent.connected({ signal, welcomePart: () => bytes } as never, call)
  agent.connected({ signal, welcomePart: () => undefined } as never, call)

  t.same(seen.settings, [{ drainMs: 30_000, tcpIdleMs: 0 }])
})

t.test('a stream first gets all closed rules, then the changes, in messages of up to 1,000', async t => {
  const clock = fakeClock()
  let closed = new Map(Array.from({ length: maxClosed + 1 }, (_, at) => [`rule-${at}`, 'later']))
  const call = { clock, codec, rules: { closed: () => closed } } as unknown as AgentCall
  const sent: { rule_id: string; reason: string }[][] = []
  const send = (_: unknown, { rules }: { rules: (typeof sent)[number] }) => sent.push(rules)
  const stream = new AbortController()

  agent.connected({ signal: stream.signal, send, welcomePart: () => undefined } as never, call)
  t.same(
    sent.map(({ length }) => length),
    [maxClosed, 1]
  )
  await clock.advance(5000)
  t.equal(sent.length, 2, 'nothing has changed')
  closed = new Map([['rule-0', 'expired']])
  await clock.advance(1000)
  t.same(sent[2]?.slice(0, 2), [
    { rule_id: 'rule-0', reason: 'expired' },
    { rule_id: 'rule-1', reason: '' }
  ])
  stream.abort()
  closed = new Map()
  await clock.advance(5000)

  t.equal(sent.length, 4)
})
