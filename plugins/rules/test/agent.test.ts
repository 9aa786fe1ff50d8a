// The agent's half: what the server says becomes a held object, and that becomes a rule of the engine.
import t from 'tap'
import type { AgentApplyResult, AgentCall, AgentObject, RuleSpec } from '../../../agent/plugin.ts'
import { openCodec } from '../../../kernel/wire/codec.ts'
import { bindHandlers } from '../../../kernel/wire/message.ts'
import agent from '../agent.ts'
import { messages, RulePush, RuleRemove, Settings } from '../wire.ts'

const codec = openCodec(messages)
const taken: AgentApplyResult = { status: 'applied', revision: 3 }

/** Remembers what it is told. */
function desk(verdict: AgentApplyResult = taken) {
  const seen = {
    puts: [] as (readonly [AgentObject, string])[],
    drops: [] as unknown[],
    opened: [] as RuleSpec[],
    settings: [] as object[]
  }
  const call = {
    codec,
    objects: {
      put: async (object: AgentObject, retry: string) => {
        seen.puts.push([object, retry])
        return verdict
      },
      drop: async (object: object, removal: string) => {
        seen.drops.push([object, removal])
        return verdict
      }
    },
    rules: {
      open: async (spec: RuleSpec) => void seen.opened.push(spec),
      close: async () => ({ done: Promise.resolve() }),
      find: () => undefined,
      configure: (settings: object) => void seen.settings.push(settings)
    }
  } as unknown as AgentCall // what this half touches of it
  const hear = async (message: { readonly name: string }, bytes: Uint8Array) =>
    (await bindHandlers(agent.handlers, () => call)
      .find(({ name }) => name === message.name)
      ?.run(codec, bytes)) ?? null
  return { seen, call, hear }
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

t.test('a push is held, and equal rules are equal bytes', async t => {
  const { seen, hear } = desk()

  const answer = await hear(RulePush, codec.encode(RulePush, push))
  await hear(RulePush, codec.encode(RulePush, { ...push, revision: 4, retry: false }))

  t.same(answer && codec.decode(RulePush.response, answer.body), { rule_id: 'r', revision: 3 })
  const [first, second] = seen.puts
  t.match(first, [{ kind: 'rule', id: 'r', revision: 3 }, 'retry'])
  t.match(second, [{ kind: 'rule', id: 'r', revision: 4 }, 'once'])
  t.same(first?.[0].bytes, second?.[0].bytes)
})

t.test('what is held becomes a rule of the engine, its targets in the order of their priority', async t => {
  const { seen, call, hear } = desk()
  await hear(RulePush, codec.encode(RulePush, push))

  await agent.kinds[0]?.apply('r', seen.puts[0]![0].bytes, call)

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

t.test('a refusal goes back with its code', async t => {
  const { hear } = desk({ status: 'refused', revision: 3, code: 'port_in_use', message: 'taken' })

  await t.rejects(hear(RulePush, codec.encode(RulePush, push)), { code: 'port_in_use', message: 'taken' })
})

t.test('a removal drops, as it was told to', async t => {
  const { seen, hear } = desk()

  const answer = await hear(
    RuleRemove,
    codec.encode(RuleRemove, { rule_id: 'r', revision: 3, removal: 'cut' })
  )

  t.same(seen.drops, [[{ kind: 'rule', id: 'r', revision: 3 }, 'cut']])
  t.same(answer && codec.decode(RuleRemove.response, answer.body), { rule_id: 'r', revision: 3 })
})

t.test('times of the welcome are taken over', async t => {
  const { seen, call } = desk()
  const bytes = codec.encode(Settings, { drain_timeout_secs: 30, tcp_idle_timeout_secs: 0 })

  agent.connected({ welcomePart: () => bytes } as never, call)
  agent.connected({ welcomePart: () => undefined } as never, call)

  t.same(seen.settings, [{ drainMs: 30_000, tcpIdleMs: 0 }])
})
