// The command `apply`: a step that is refused does not stop the others.
import { writeFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { Fault } from '../../../kernel/base/errors.ts'
import type { Command } from '../../../kernel/cli/command.ts'
import { type KitServer, testAgent, testServer } from '../../../kit/public.ts'
import { insertClient } from '../../../kit/test-server.ts'
import { until } from '../../../test/support/await-server.ts'
import { commands } from '../commands.ts'
import { apiOf, filled } from './apply-fixture.ts'

interface RuleRow {
  readonly rule_id: string
  readonly client_name: string
  readonly listen_port: number
  readonly state: string
}

const web = (client: string, listen_port = 8080, host = '10.0.0.1') => ({
  client,
  listen_port,
  targets: [{ host, port: 80 }]
})

t.test('an offline client does not stop the others, and the run ends with exit code 4', async t => {
  const { apply, rules } = await runFixture(t)
  await testAgent(t, apply.app, 'paris')
  await insertClient(apply.app, 'rome')
  const file = { rules: [web('rome'), web('paris'), web('rome', 8081), web('paris', 8081)] }

  const first = await apply(file)
  t.match(first, {
    exit: 4,
    notes: [/^refused: .* rome .* client_not_connected/, 'done: create rule paris tcp 8080']
  })
  t.match(first.error, /^2 of 4 steps are done, 2 refused: client .* is not connected/)
  t.same(await rules(), ['paris 8080 active', 'paris 8081 active'])

  const second = await apply(file)
  t.match(second, {
    exit: 4,
    notes: [/^refused: create rule rome tcp 8080/, /^refused: create rule rome tcp 8081/]
  })
  t.same(second.steps, ['create rule rome tcp 8080 refused', 'create rule rome tcp 8081 refused'])
})

t.test('a queued rule is pending: exit code 7, in every run until its client has it', async t => {
  const { apply, rules } = await runFixture(t)
  await insertClient(apply.app, 'rome')

  const first = await apply({ rules: [web('rome')] }, { if_offline: 'queue' })
  t.match(first, { exit: 7, error: '', notes: ['pending: create rule rome tcp 8080'] })
  t.same(await rules(), ['rome 8080 pending'])
  const second = await apply({ rules: [web('rome')] })
  t.match(second, { exit: 7, error: '', steps: [], notes: ['rule rome tcp 8080 is pending'] })
})

t.test('a change or removal that waits for an offline client is pending, not done', async t => {
  const { apply, rules } = await runFixture(t)
  const agent = await testAgent(t, apply.app, 'rome')
  await apply({ rules: [web('rome'), web('rome', 8081)] })
  await agent.close()
  await until(
    async () => apply.app.server.depsOf('apply').control.peers.find(agent.clientId),
    peer => !peer
  )
  await apply.app.clock.advance(1000)

  const changed = { rules: [web('rome', 8080, '10.0.0.2')] }
  t.match(await apply(changed, { prune: true }), {
    exit: 7,
    steps: ['change rule rome tcp 8080 pending', 'delete rule rome tcp 8081 pending']
  })
  t.same(await rules(), ['rome 8080 active'])
  t.match(await apply(changed), { exit: 7, steps: [], notes: ['rule rome tcp 8080 is pending'] })
})

t.test('a document says what happens to offline clients, for all its rules and for one', async t => {
  const { apply, rules } = await runFixture(t)
  await insertClient(apply.app, 'rome')
  const two = [web('rome'), { ...web('rome', 8081), if_offline: 'refuse' }]

  t.match(await apply({ if_offline: 'queue', rules: two }), { exit: 4 })
  t.same(await rules(), ['rome 8080 pending'])
  t.match(await apply({ if_offline: 'wait', rules: two }), {
    exit: 3,
    error: /^\/if_offline must be one of refuse, queue/
  })
  t.match(await apply({ rules: [{ ...web('rome', 8082), if_offline: 'wait' }] }), {
    exit: 3,
    error: /^rules\[0\]: \/if_offline/
  })
})

t.test(
  'existing and ack_timeout_secs reach the requests: the option overrides the document, a rule both',
  async t => {
    const { apply } = await runFixture(t)
    const agent = await testAgent(t, apply.app, 'paris')
    const existing = () => agent.received.slice(-2).map(({ body }) => body['existing'] ?? 'keep')
    const rules = (host: string) => [
      web('paris', 8080, host),
      { ...web('paris', 8081, host), existing: 'drain' }
    ]
    await apply({ rules: rules('10.0.0.1') })

    t.match(await apply({ existing: 'cut', rules: rules('10.0.0.2') }), { exit: 0 })
    t.same(existing(), ['cut', 'drain'])
    t.match(await apply({ existing: 'cut', rules: rules('10.0.0.3') }, { existing: 'keep' }), { exit: 0 })
    t.same(existing(), ['keep', 'drain'])

    t.match(await apply({ ack_timeout_secs: 61, rules: [], users: [{ user_id: 'ann' }] }), { exit: 3 })
    apply.requests.length = 0
    await apply({
      ack_timeout_secs: 50,
      rules: [web('paris', 8082), { ...web('paris', 8083), ack_timeout_secs: 9 }]
    })
    t.same(
      apply.requests.filter(path => path.startsWith('POST /v1/rules')),
      ['POST /v1/rules?ack_timeout_secs=50', 'POST /v1/rules?ack_timeout_secs=9']
    )
  }
)

t.test('a port that is taken does not stop the steps after it, and its error is the exit code', async t => {
  const { apply, rules } = await runFixture(t)
  const react = ({ body }: { readonly body: Readonly<Record<string, unknown>> }) =>
    body['listen_from'] === 8080 ? ({ refuse: 'port_in_use' } as const) : ('accept' as const)
  await testAgent(t, apply.app, 'paris', { react })

  const file = { rules: [web('paris', 8080), web('paris', 8081)] }
  t.match(await apply(file), {
    exit: 5,
    notes: [/^refused: .*port_in_use/, 'done: create rule paris tcp 8081']
  })
  t.same(await rules(), ['paris 8080 failed', 'paris 8081 active'])
  t.match(await apply(file), { exit: 7, steps: [], notes: ['rule paris tcp 8080 is failed: port_in_use'] })
})

t.test('--prune deletes what holds the port of a new rule, and then creates that rule', async t => {
  const { apply, rules } = await runFixture(t)
  await testAgent(t, apply.app, 'paris')
  await apply({ rules: [{ ...web('paris'), listen_port_end: 8089 }] })

  const file = { rules: [{ ...web('paris', 8085, '10.0.0.2'), sni_pattern: 'a.example' }] }
  const run = await apply(file, { prune: true })
  t.match(run, {
    exit: 0,
    steps: ['delete rule paris tcp 8080-8089 done', 'create rule paris tcp 8085 a.example done']
  })
  t.same(await rules(), ['paris 8085 active'])
  t.match(await apply(file, { prune: true }), { exit: 0, steps: [] })
})

t.test('nothing is deleted on a client that refused another step', async t => {
  const { apply, rules } = await runFixture(t)
  await testAgent(t, apply.app, 'paris')
  await insertClient(apply.app, 'rome')
  await apply({ rules: [web('rome'), web('paris')] }, { if_offline: 'queue' })

  const run = await apply(
    { rules: [web('rome', 9090, '10.0.0.2'), web('paris', 9090, '10.0.0.2')] },
    { prune: true }
  )
  t.match(run, { exit: 4 })
  t.same(run.steps.toSorted(), [
    'create rule paris tcp 9090 done',
    'create rule rome tcp 9090 refused',
    'delete rule paris tcp 8080 done',
    'delete rule rome tcp 8080 skipped'
  ])
  t.same(await rules(), ['rome 8080 pending', 'paris 9090 active'])
})

t.test('a fault that every step would meet ends the run, and the message counts the steps', async t => {
  const { apply } = await runFixture(t)
  await testAgent(t, apply.app, 'paris')
  apply.failAt = 'POST /v1/rules'
  const run = await apply({ users: [{ user_id: 'ann' }], rules: [web('paris'), web('paris', 8081)] })
  t.match(run, { exit: 6, error: /^1 of 3 steps are done: create rule paris tcp 8080: the store is full/ })
  t.same(run.steps, ['create user ann done'])
})

t.test('a second run at the same time is refused, and changes nothing', async t => {
  const { apply, rules } = await runFixture(t)
  await testAgent(t, apply.app, 'paris')
  const runs = await Promise.all([apply({ rules: [web('paris')] }), apply({ rules: [web('paris')] })])
  t.same(runs.map(({ exit }) => exit).sort(), [0, 5])
  t.same(await rules(), ['paris 8080 active'])
})

t.test(
  'the note of a grant changes in place, and two equal grants are refused before any change',
  async t => {
    const { apply } = await runFixture(t)
    await insertClient(apply.app, 'paris')
    const grant = {
      user_id: 'ann',
      client: 'paris',
      listen_port_start: 1,
      listen_port_end: 9,
      protocols: ['tcp']
    }
    await apply({ users: [{ user_id: 'ann' }], grants: [grant] })
    const grants = async () =>
      (await apply.app.call<{ grant_id: string; note: string }[]>('GET', '/v1/grants')).body
    const [before] = await grants()

    t.match(await apply({ grants: [{ ...grant, protocols: ['TCP', 'tcp'], note: 'May' }] }), {
      exit: 0,
      steps: ['change grant ann paris 1-9 tcp done']
    })
    t.match(await grants(), [{ grant_id: before?.grant_id, note: 'May' }])
    t.match(await apply({ grants: [grant, { ...grant, protocols: ['TCP'], labels: { a: 'b' } }] }), {
      exit: 3,
      error: /^the file has grant ann paris 1-9 tcp twice/
    })
  }
)

interface Run {
  readonly exit: number
  readonly error: string // message of a Fault
  readonly steps: readonly string[] // as `--output json` prints them: 'create rule paris tcp 8080 done'
  readonly notes: readonly string[]
}

/** Calls the command with a document, as `sluice apply FILE --yes --output json` does. */
async function runFixture(t: Test) {
  const app = await testServer(t)
  const dir = t.testdir()
  let files = 0
  const call = Object.assign(
    async (document: object, options: object = {}): Promise<Run> => {
      const file = `${dir}/${files++}.json`
      writeFileSync(file, JSON.stringify(document))
      const run = { exit: 0, error: '', steps: [] as string[], notes: [] as string[] }
      const print = {
        format: 'json',
        note: (text: string) => run.notes.push(text),
        done: () => {},
        data: (rows: readonly Record<string, string>[]) =>
          run.steps.push(...rows.map(({ verb, label, result }) => `${verb} ${label} ${result}`))
      }
      try {
        const parts = {
          args: { file, ...options },
          api: observedApi(app, call),
          filled,
          print,
          confirm: async () => {}
        }
        run.exit = (await applyCommand.run(parts as unknown as Parameters<Command['run']>[0])) ?? 0
      } catch (error) {
        if (!(error instanceof Fault)) throw error
        run.exit = error.errorCode.exit
        run.error = error.message
      }
      return run
    },
    { app, requests: [] as string[], failAt: '' }
  )
  const rules = async () =>
    (await app.call<RuleRow[]>('GET', '/v1/rules')).body
      .filter(({ state }) => state !== 'draining')
      .map(({ client_name, listen_port, state }) => `${client_name} ${listen_port} ${state}`)
  return { apply: call, rules }
}

const applyCommand = commands.find(({ name }) => name === 'apply') as Command

/** Records the requests that change something, and refuses those to `failAt`. */
function observedApi(app: KitServer, observed: { readonly requests: string[]; readonly failAt: string }) {
  const api = apiOf(app)
  const send: typeof api.send = async (method, path, body) => {
    observed.requests.push(`${method} ${path}`)
    if (observed.failAt === `${method} ${path}`)
      throw new Fault({ code: 'store_unavailable', http: 503, exit: 6 }, 'the store is full')
    return api.send(method, path, body)
  }
  return { ...api, send }
}
