// Targets that a plugin plans with itself as dialer: what reaches the engine, and how the plugin's answers do.
import { Duplex } from 'node:stream'
import t, { type Test } from 'tap'
import type { DialRequest } from '../../agent/engine/dial-request.ts'
import type { AgentCall, AgentPlugin, Dialed, EngineTarget, TargetDial } from '../../agent/plugin.ts'
import { guardPlugin } from '../../agent/plugins/guard-plugin.ts'
import type { Plan } from '../../agent/rules/planner.ts'
import { openTargetDials } from '../../agent/rules/target-dials.ts'
import { fakeClock } from '../../kit/fake-clock.ts'
import { type RunningAgentOptions, runAgent, testServer } from '../../kit/public.ts'
import { recordLog } from './recorded-log.ts'

const caller: DialRequest['caller'] = {
  source: { address: '192.0.2.7', port: 1234 },
  listen: { address: '10.0.0.9', port: 8080 },
  serverName: null
}

const until = async (condition: () => boolean): Promise<void> => {
  while (!condition()) await new Promise(resolve => setImmediate(resolve))
}

/** A stream that ends nowhere. */
const openStream = (): Duplex => new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() })

/** A half that plans `targets` for every rule, and dials as the test sets. */
function dialing(name = 'far') {
  const now = {
    targets: null as readonly EngineTarget[] | null,
    answer: (_: TargetDial): Promise<Dialed> | Dialed => ({ ok: false, reason: 'far_down', isRefusal: true }),
    call: null as AgentCall | null
  }
  const dials: TargetDial[] = []
  const plugin: AgentPlugin = {
    name,
    agent: '^1.7.0',
    plan(draft, _, call) {
      now.call = call
      if (now.targets) draft.targets = now.targets
    },
    async dial(request) {
      dials.push(request)
      return now.answer(request)
    }
  }
  return { plugin, now, dials }
}

/** A connection of a plugin that tells what was done with it. */
function connection(changes: Partial<Extract<Dialed, { readonly ok: true }>> = {}) {
  const done: string[] = []
  const dialed: Dialed = {
    ok: true,
    address: '10.1.2.3',
    port: 443,
    carry: () => void done.push('carried'),
    cancel: () => void done.push('canceled'),
    ...changes
  }
  return { dialed, done }
}

async function open(t: Test, options: RunningAgentOptions) {
  const server = await testServer(t)
  const agent = await runAgent(t, server, 'paris', options)
  let port = 8080
  const push = async (protocol = 'tcp') => {
    const { body } = await server.call<{ rule_id: string; error?: { message: string } }>(
      'POST',
      '/v1/rules',
      {
        client: 'paris',
        listen_port: port++,
        protocol,
        targets: [{ host: '10.0.0.1', port: 80 }]
      }
    )
    return body
  }
  return { agent, push }
}

const far: EngineTarget = { host: '10.0.0.1', port: 80, dialer: 'far', path: 'lyon' }

t.test('a plugin plans itself as dialer, and guardrails leave its targets to the exit', async t => {
  const { plugin, now } = dialing()
  now.targets = [far]
  const { agent, push } = await open(t, {
    plugins: [plugin],
    guardrails: { allow_targets: ['192.0.2.0/24'] }
  })
  await push()
  t.same(agent.engine.opened.at(-1)?.targets, [far])
  now.targets = [{ ...far, path: 'nice' }]
  await now.call?.rules.replan()
  t.equal(agent.engine.replaced.length, 1, 'another path is another target')
})

t.test(
  'a plan with another dialer, or one that no engine accepts, is refused with the name of the plugin',
  async t => {
    const { plugin, now } = dialing()
    const { push } = await open(t, { plugins: [plugin] })
    for (const [message, target, protocol] of [
      [/plugin far: a target can only have the dialer far, got near/, { ...far, dialer: 'near' }, 'tcp'],
      [
        /plugin far: target 10\.0\.0\.1 has a path, but no dialer/,
        { host: '10.0.0.1', port: 80, path: 'x' },
        'tcp'
      ],
      [/plugin far: target 10\.0\.0\.1 of a UDP rule cannot have a dialer/, far, 'udp']
    ] as const) {
      now.targets = [target]
      t.match((await push(protocol)).error?.message, message)
    }
  }
)

t.test('an answer of the plugin goes to the engine, and the stream of the engine to the plugin', async t => {
  const { plugin, now, dials } = dialing()
  now.targets = [far]
  const { agent, push } = await open(t, { plugins: [plugin] })
  const { rule_id } = await push()
  const { engine } = agent
  const [ruleId = 0] = engine.rules.keys()
  const dial = { kind: 'dial', ruleId, target: 0, offset: 0, caller } as const

  engine.emit({ ...dial, token: 1 })
  await until(() => engine.dialAnswers.has(1))
  t.same(engine.dialAnswers.get(1), { ok: false, reason: 'far_down', isRefusal: true })
  t.match(dials, [{ rule: { id: rule_id }, target: 0, planned: far, offset: 0, caller }])

  const stream = openStream()
  const carried = Promise.withResolvers<Duplex>()
  now.answer = () => connection({ carry: carried.resolve }).dialed
  engine.dialStreams.set(2, stream)
  engine.emit({ ...dial, token: 2 })
  t.equal(await carried.promise, stream)
  t.same(engine.dialAnswers.get(2), { ok: true, address: '10.1.2.3', port: 443 })

  const unused = connection()
  now.answer = () => unused.dialed
  engine.emit({ ...dial, token: 3 })
  await until(() => unused.done.length > 0)
  t.same(unused.done, ['canceled'], 'the engine needs no stream')
})

t.test('a dial that the engine cancels aborts the signal of the plugin', async t => {
  const { plugin, now, dials } = dialing()
  now.targets = [far]
  const { agent, push } = await open(t, { plugins: [plugin] })
  await push()
  const [ruleId = 0] = agent.engine.rules.keys()
  const late = connection()
  now.answer = ({ signal }) =>
    new Promise(resolve => signal.addEventListener('abort', () => resolve(late.dialed)))
  agent.engine.emit({ kind: 'dial', token: 1, ruleId, target: 0, offset: 0, caller })
  await until(() => dials.length === 1)
  agent.engine.emit({ kind: 'dial-canceled', token: 1 })
  await until(() => late.done.length > 0)
  t.same(late.done, ['canceled'])
})

t.test('errors of the plugin are failures, and are logged with its name', async t => {
  const { plugin, now } = dialing()
  now.targets = [far]
  const { agent, push } = await open(t, { plugins: [plugin] })
  await push()
  const { engine } = agent
  const [ruleId = 0] = engine.rules.keys()
  const invalid = connection({ address: 'db.internal' })
  const failing = connection({
    carry() {
      throw new Error('no place')
    }
  })
  const stream = openStream()
  engine.dialStreams.set(4, stream)
  const answers: readonly (typeof now.answer)[] = [
    () => Promise.reject(new Error('out of order')),
    () => ({ ok: false, reason: 'Not a code', isRefusal: true }),
    () => invalid.dialed,
    () => failing.dialed
  ]
  for (const [index, answer] of answers.entries()) {
    const token = index + 1
    now.answer = answer
    engine.emit({ kind: 'dial', token, ruleId, target: 0, offset: 0, caller })
    await until(() => engine.dialAnswers.has(token))
    t.match(engine.dialAnswers.get(token), token === 4 ? { ok: true } : { ok: false, reason: 'internal' })
  }
  await until(() => stream.destroyed)
  t.same(invalid.done, ['canceled'])
  const failures = agent.log.filter(({ event }) => event === 'plugin.failed')
  t.same(
    failures.map(({ fields }) => fields['plugin']),
    ['far', 'far', 'far', 'far']
  )
})

t.test('a probe of the rule dials without a caller and uses no connection', async t => {
  const { plugin, now, dials } = dialing()
  now.targets = [{ host: 'db.internal', port: 80 }, far]
  const { push } = await open(t, { plugins: [plugin] })
  const { rule_id } = await push()
  const paths = now.call?.paths
  const probed = connection()
  now.answer = () => probed.dialed
  t.same(await paths?.probe(rule_id, 1), { failure: null, reached: { address: '10.1.2.3' } })
  t.same(probed.done, ['canceled'])
  t.match(dials, [{ target: 1, planned: far, offset: 0, caller: null }])
  now.answer = () => ({ ok: false, reason: 'far_down', isRefusal: true })
  t.same(await paths?.probe(rule_id, 1), { failure: 'far_down' })
  now.answer = () => ({ ok: false, reason: 'descriptors', isRefusal: true })
  t.equal(await paths?.probe(rule_id, 1), null, 'this says nothing about the target')
})

/** The dials of one rule by one plugin, without an engine. */
function openDials(plugins: readonly AgentPlugin[]) {
  const log = recordLog()
  const clock = fakeClock()
  const rule = { spec: { id: 'rule' }, plan: { targets: [far] } as unknown as Plan }
  const dials = openTargetDials({
    plugins: () => plugins.map(plugin => guardPlugin(plugin, log, {})),
    rules: { entry: () => undefined },
    engine: { dialed: async () => null },
    call: () => ({ clock, time: {} }) as unknown as AgentCall,
    clock
  })
  return { probe: () => dials.probe(rule as never, 0, 5_000), clock }
}

t.test('a plugin that is not loaded, or does not dial, refuses', async t => {
  const { dial: _, ...mute } = dialing().plugin
  for (const plugins of [[], [mute]])
    t.same(await openDials(plugins).probe(), { failure: 'no_dialer', isRefusal: true })
})

t.test('a plugin that does not answer in time has failed, and its late connection is canceled', async t => {
  const { plugin, now } = dialing()
  const late = connection()
  const answer = Promise.withResolvers<Dialed>()
  now.answer = () => answer.promise
  const { probe, clock } = openDials([plugin])
  const probed = probe()
  await clock.advance(5_000)
  t.same(await probed, { failure: 'timeout', isRefusal: false })
  answer.resolve(late.dialed)
  await until(() => late.done.length > 0)
  t.same(late.done, ['canceled'])
})

t.test('after 64 reasons, further ones count as one', async t => {
  const { plugin, now } = dialing()
  const { probe } = openDials([plugin])
  for (let count = 0; count < 66; count++) {
    now.answer = () => ({ ok: false, reason: `reason_${count}`, isRefusal: false })
    t.match(await probe(), { failure: count < 64 ? `reason_${count}` : 'dial_failed' })
  }
  now.answer = () => ({ ok: false, reason: 'reason_1', isRefusal: false })
  t.match(await probe(), { failure: 'reason_1' })
})
