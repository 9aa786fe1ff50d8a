// Diverts that plugins plan: what reaches the engine, and what is refused with the plugin's name.
import t, { type Test } from 'tap'
import type { AgentCall, AgentPlugin, Divert } from '../../agent/plugin.ts'
import { type RunningAgentOptions, runAgent, testServer } from '../../kit/public.ts'

const tarpit: Divert = {
  name: 'tarpit',
  from: ['tarpit slow'],
  targets: [{ host: '127.0.0.1', port: 9 }],
  refusalBeyond: { max: 2, reason: 'tarpit_full' }
}

/** A half that plans what the test sets, for every rule. */
const planning = (now: { diverts: readonly Divert[]; call?: AgentCall }, name = 'tarpit'): AgentPlugin => ({
  name,
  agent: '^1.6.0',
  plan(draft, _, call) {
    now.call = call
    draft.diverts = [...draft.diverts, ...now.diverts]
  }
})

async function open(t: Test, options: RunningAgentOptions) {
  const server = await testServer(t)
  const agent = await runAgent(t, server, 'paris', options)
  const push = (listen_port = 8080) =>
    server.call<{ rule_id: string; state: string; error?: { code: string; message: string } }>(
      'POST',
      '/v1/rules',
      {
        client: 'paris',
        listen_port,
        targets: [{ host: '10.0.0.1', port: 80 }]
      }
    )
  return { server, agent, push }
}

t.test('a plan diverts callers; a later change of its diverts opens a new engine rule', async t => {
  const now: Parameters<typeof planning>[0] = { diverts: [tarpit] }
  const { agent, push } = await open(t, { plugins: [planning(now)] })
  const { rule_id } = (await push()).body
  t.same(agent.engine.opened.at(-1)?.diverts, [tarpit])
  const path = now.call?.paths.find(rule_id)
  t.equal(path?.divert('192.0.2.7'), null)
  now.call?.changeAddresses('tarpit slow', { add: ['192.0.2.0/24'], remove: [] })
  t.same(path?.divert('192.0.2.7'), tarpit)
  t.same(path?.divert('::ffff:192.0.2.7'), tarpit)
  t.same(path?.divert('64:ff9b::192.0.2.7'), tarpit)
  t.equal(path?.divert('198.51.100.7'), null)

  await now.call?.rules.replan()
  t.equal(agent.engine.opened.length, 1, 'an equal plan changes nothing')
  now.diverts = []
  await now.call?.rules.replan()
  t.same(agent.engine.opened.at(-1)?.diverts, [])
  t.equal(agent.engine.replaced.length, 1)
})

t.test('invalid diverts are refused with the plugin and the field, and change nothing', async t => {
  const now: Parameters<typeof planning>[0] = { diverts: [] }
  const { agent, push } = await open(t, { plugins: [planning(now)] })
  await push()
  const bad: readonly (readonly [RegExp, readonly Divert[]])[] = [
    [/plugin tarpit: diverts\[0\]\.targets must have 1 to 8 entries, got 0/, [{ ...tarpit, targets: [] }]],
    [/plugin tarpit: diverts\[0\]\.from must have 1 to 8 entries, got 0/, [{ ...tarpit, from: [] }]],
    [
      /plugin tarpit: diverts\[0\]\.refusalBeyond\.max must be an integer of at least 1, got 0/,
      [{ ...tarpit, refusalBeyond: { max: 0, reason: 'tarpit_full' } }]
    ],
    [
      /plugin tarpit: diverts must have 0 to 8 entries, got 9/,
      Array.from({ length: 9 }, (_, index) => ({ ...tarpit, name: `tarpit-${index}` }))
    ],
    [
      /plugin tarpit: diverts must be named tarpit or tarpit-SUFFIX, got honeypot/,
      [{ ...tarpit, name: 'honeypot' }]
    ]
  ]
  for (const [index, [message, diverts]] of bad.entries()) {
    now.diverts = diverts
    await now.call?.rules.replan()
    const { text } = await push(9000 + index)
    t.match(text, message)
  }
  t.equal(agent.engine.opened.length, 1)
  t.equal(agent.engine.rules.size, 1)
})

t.test('a plugin that diverts is not blamed for the diverts of another', async t => {
  const first: Parameters<typeof planning>[0] = { diverts: [tarpit] }
  const second: Parameters<typeof planning>[0] = { diverts: [{ ...tarpit, name: 'honeypot-ssh' }] }
  const { agent, push } = await open(t, { plugins: [planning(first), planning(second, 'honeypot')] })
  await push()
  t.same(
    agent.engine.opened.at(-1)?.diverts.map(({ name }) => name),
    ['tarpit', 'honeypot-ssh']
  )
  second.diverts = Array.from({ length: 8 }, (_, index) => ({ ...tarpit, name: `honeypot-${index}` }))
  t.match((await push(8081)).text, /plugin honeypot: diverts must have 0 to 8 entries, got 9/)
})

t.test('guardrails apply to the targets of a divert', async t => {
  const guardrails = { deny_targets: ['127.0.0.0/8'] }
  const { agent, push } = await open(t, { plugins: [planning({ diverts: [tarpit] })], guardrails })
  t.match(
    (await push()).text,
    /guardrails of this agent do not allow the target 127\.0\.0\.1 of the divert tarpit.*denied_by_agent/
  )
  t.equal(agent.engine.rules.size, 0)
})
