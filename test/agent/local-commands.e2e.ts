// The socket of a running agent: `agent status`, and the commands of agent halves.
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import { askAgent } from '../../agent/local/ask-agent.ts'
import { maxQuestionBytes, readLine, socketPathIn } from '../../agent/local/protocol.ts'
import { type AgentPlugin, defineCommand } from '../../agent/plugin.ts'
import { writeBundle } from '../../agent/stream/bundle.ts'
import { systemClock } from '../../kernel/base/clock.ts'
import { Refused } from '../../kernel/wire/message.ts'
import rules from '../../plugins/rules/agent.ts'
import { messages } from '../../plugins/rules/wire.ts'
import { sluice, start } from '../support/process.ts'
import { deadEndpoint, scriptedServer } from './scripted-server.ts'
import { bundleOf, pushRule, startTestAgent } from './test-agent.ts'

/** Returns a directory with a short path, as a socket needs. */
function stateDir(t: Test): string {
  const dir = mkdtempSync(join(tmpdir(), 'agent-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

const ask = (dir: string, command: string, args = {}) => askAgent(dir, { command, args }, systemClock)

const acme: AgentPlugin = {
  name: 'acme',
  agent: '^1.0.0',
  capabilities: { 'acme.blocks': '1.2.0' },
  commands: [
    defineCommand({
      name: 'blocks',
      summary: 'List the blocks.',
      args: Type.Object({ above: Type.Integer({ minimum: 1, description: 'Only above.' }) }),
      run: ({ args: { above }, call }) => [{ above, rules: call.rules.closed().size }]
    }),
    defineCommand({
      name: 'refuse',
      summary: 'Refuse.',
      run: () => Promise.reject(new Refused('no_blocks', 'there are none; add one'))
    }),
    defineCommand({ name: 'break', summary: 'Break.', run: () => Promise.reject(new Error('broken')) }),
    defineCommand({ name: 'flood', summary: 'Flood.', run: () => ({ text: 'x'.repeat(2 ** 20) }) })
  ]
}

t.test('status shows the connection, the rules and the plugins', async t => {
  const server = await scriptedServer(t, { messages })
  const dir = stateDir(t)
  const agent = startTestAgent(t, { dir, server, plugins: [rules, acme] })
  const connection = await server.next()
  await pushRule(connection, 'rule-1', 1, 8001)
  agent.engine.refuseNextOpen('EADDRINUSE')
  await pushRule(connection, 'rule-2', 2, 8002, true).catch(() => {})

  const status = await ask(dir, 'status')

  t.match(status, {
    client_id: '01J0000000000000000000000A',
    client_name: 'edge',
    server_endpoint: server.endpoint,
    connected: true,
    reason: null,
    version: '2.0.0',
    engine: 'fake',
    rules: { open: 1, closed: 0, failed: 1 },
    connections: 0,
    not_in_force: [{ kind: 'rule', id: 'rule-2', reason: 'port_in_use' }],
    plugins: [{ name: 'rules' }, { name: 'acme', capabilities: { 'acme.blocks': '1.2.0' } }]
  })
})

t.test('status shows since when and why the agent is offline', async t => {
  const server = await scriptedServer(t, { messages })
  const dir = stateDir(t)
  const { log } = startTestAgent(t, { dir, server: { ...server, endpoint: await deadEndpoint() } })
  await log.until('control.unreachable')

  t.match(await ask(dir, 'status'), {
    connected: false,
    since: '2026-01-15T12:00:00.000Z',
    reason: /^unreachable: /
  })
})

t.test('a command of an agent half gets its arguments checked, and refuses with its own code', async t => {
  const server = await scriptedServer(t, { messages })
  const dir = stateDir(t)
  const { log } = startTestAgent(t, { dir, server, plugins: [rules, acme] })
  await server.next()

  t.same(await ask(dir, 'blocks', { above: 2 }), [{ above: 2, rules: 0 }])
  for (const [command, args, code, message] of [
    ['blocks', { above: 0 }, 'usage', /above must be >= 1/],
    ['blocks', { above: 1, more: 1 }, 'usage', /unknown key more/],
    ['none', {}, 'usage', /no command none: its plugin is not loaded/],
    ['refuse', {}, 'no_blocks', /^there are none; add one$/],
    ['break', {}, 'internal', /plugin acme failed at command break/],
    ['flood', {}, 'internal', /more than 1048576 bytes/]
  ] as const)
    await t.rejects(
      ask(dir, command, args),
      { errorCode: { code }, message },
      `${command} ${JSON.stringify(args)}`
    )
  t.match(
    log.lines.filter(({ event }) => event === 'plugin.failed'),
    [{ fields: { plugin: 'acme', hook: 'command break' } }]
  )
})

t.test('only its owner can use the socket, which is removed at the stop', async t => {
  const server = await scriptedServer(t, { messages })
  const dir = stateDir(t)
  const agent = startTestAgent(t, { dir, server })
  await server.next()

  t.equal(statSync(socketPathIn(dir)).mode & 0o777, 0o600)
  await agent.stop()

  t.notOk(existsSync(socketPathIn(dir)))
  await t.rejects(ask(dir, 'status'), {
    errorCode: { code: 'agent_not_running', exit: 69 },
    message: /sluice agent run/
  })
})

t.test('clients that send too much, nothing or garbage are disconnected, and others are served', async t => {
  const server = await scriptedServer(t, { messages })
  const dir = stateDir(t)
  const { clock } = startTestAgent(t, { dir, server })
  await server.next()
  const send = async (text: string) => {
    const socket = connect(socketPathIn(dir))
    socket.write(text)
    return readLine(socket, 2 ** 20).catch(() => null)
  }

  t.equal(await send('x'.repeat(maxQuestionBytes + 1)), null)
  t.match(await send('nonsense\n'), /"code":"usage"/)
  t.match(await send('{"command":1}\n'), /"code":"usage"/)
  const silent = Array.from({ length: 8 }, () => send(''))
  await until(async () => (await send('{"command":"status"}\n')) === null)
  await clock.advance(15_000)
  t.same(new Set(await Promise.all(silent)), new Set([null]))
  t.match(await send('{"command":"status"}\n'), /"ok":true/)
})

t.test('with a path too long for a socket the agent runs, and commands report the reason', async t => {
  const server = await scriptedServer(t, { messages })
  const dir = t.testdir({ ['long'.repeat(25)]: {} })
  const { log } = startTestAgent(t, { dir: join(dir, 'long'.repeat(25)), server })
  await server.next()

  t.match(
    log.lines.filter(({ event }) => event === 'agent.socket_unavailable'),
    [{ level: 'warn', message: /at most 103 are possible: give a shorter state_dir/ }]
  )
  await t.rejects(ask(join(dir, 'long'.repeat(25)), 'status'), {
    errorCode: { code: 'usage' },
    message: /shorter/
  })
})

/** Resolves when the condition holds; each try waits for an answer. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise(resolve => setImmediate(resolve))
}

const plugin = `import { defineCommand, Type } from 'sluice/agent-plugin'
export default {
  name: 'acme',
  agent: '^1.0.0',
  commands: [
    defineCommand({
      name: 'deny-list',
      summary: 'List what is denied.',
      args: Type.Object({
        network: Type.String({ description: 'Only this network.' }),
        top: Type.Optional(Type.Integer({ minimum: 1, description: 'How many.' }))
      }),
      positional: ['network'],
      run: ({ args: { network, top = 10 }, call }) => [{ network, top, open: call.rules.closed().size }]
    })
  ]
}`

t.test(
  'the command line calls the running agent, lists commands of plugins, and reports if none runs',
  async t => {
    const dir = stateDir(t)
    const folder = join(import.meta.dirname, '..', '..', 'node_modules', '.local-commands')
    rmSync(folder, { recursive: true, force: true })
    t.teardown(() => rmSync(folder, { recursive: true, force: true }))
    mkdirSync(folder, { mode: 0o755 })
    writeFileSync(join(folder, 'package.json'), '{"name":"acme","version":"1.0.0","type":"module"}', {
      mode: 0o644
    })
    writeFileSync(join(folder, 'agent.js'), plugin, { mode: 0o644 })
    const config = join(dir, 'agent.toml')
    writeFileSync(config, `state_dir = "${dir}"\n[plugins."${folder}"]\n`)
    writeBundle(
      join(dir, 'bundle.json'),
      bundleOf({ endpoint: await deadEndpoint(), fingerprint: 'ab'.repeat(32) }, 'x')
    )
    const of = (...args: string[]) => sluice(['agent', ...args, '--config', config])

    const away = await of('status')
    t.match(away, { code: 69, stderr: /^agent_not_running: / })
    const agent = start(t, ['agent', 'run', '--config', config])
    await agent.until('control.unreachable')
    const json = await of('status', '--output', 'json')
    t.match(JSON.parse(json.stdout), {
      connected: false,
      reason: /^unreachable: .*ECONNREFUSED/,
      plugins: Array
    })
    t.match(
      (await of('status')).stdout,
      /^connected +no, since \S+: unreachable: .*\n(.*\n)*^rules +0 open, 0 closed/m
    )
    t.match(await of('deny-list', '10.0.0.0/8', '--top', '3'), {
      code: 0,
      stdout: /^NETWORK +TOP +OPEN\n10\.0\.0\.0\/8 +3 +0\n$/
    })
    t.match(await of('deny-list', '10.0.0.0/8', '--top', '0'), { code: 2, stderr: /TOP must be >= 1/ })
    t.match((await of('deny-list', '--help')).stdout, /Usage: sluice agent deny-list \[options\] <NETWORK>/)
    t.match((await of('--help')).stdout, /deny-list \[options\] <NETWORK> +List what is denied/)
    t.match(await of('deny-lst'), { code: 2, stderr: /Did you mean deny-list\?/ })
    agent.signal('SIGKILL')
    await agent.exit
    t.match(await of('status'), { code: 69, stderr: /no agent runs with the state directory/ })
    const again = start(t, ['agent', 'run', '--config', config])
    await again.until('control.unreachable')
    t.match(await of('status'), { code: 0 })
  }
)
