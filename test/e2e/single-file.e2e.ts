// The single-file agent: dist/agent.mjs, with the native engine in a folder beside it.
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { agentBundle } from '../../config/build/agent/bundle.ts'
import { hasPluginCode, pluginOfStack } from '../../plugins/process/blamed-plugin.ts'
import { freePort } from '../support/ports.ts'
import { startAgent, type TestCluster, testCluster } from '../support/test-cluster.ts'
import { get, startWebServer } from '../support/web.ts'

const root = join(import.meta.dirname, '..', '..')
const text = await agentBundle()
const addon = join(root, 'native/build/Release/sluice.node')
const engine = existsSync(addon) ? 'native' : 'portable'
const example = join(root, 'test/third-party/connection-log')
const dropper = join(root, 'plugins/process/test/dropper')

const dir = t.testdir()
const program = join(dir, 'agent.mjs')
writeFileSync(program, text)
chmodSync(program, 0o755)
if (engine === 'native') {
  const beside = join(dir, 'prebuilds', `${process.platform}-${process.arch}`)
  mkdirSync(beside, { recursive: true })
  cpSync(addon, join(beside, 'sluice.node'))
}

/** Pushes a rule to a web server, and returns its port. */
async function push(t: Test, cluster: TestCluster, fields: object = {}): Promise<number> {
  const port = await freePort()
  const targets = [{ host: '127.0.0.1', port: await startWebServer(t) }]
  await cluster.call('POST', '/v1/rules', { client: 'paris', listen_port: port, targets, ...fields })
  return port
}

t.test('the file enrolls, forwards with the engine beside it, and checks its host', async t => {
  const cluster = await testCluster(t)

  const { agent, stateDir } = await startAgent(t, cluster, 'paris', { program })

  t.match(await agent.until('engine.selected'), { engine })
  t.match(await get(`http://127.0.0.1:${await push(t, cluster)}`), /^hello from/)
  agent.signal('SIGTERM')
  t.equal(await agent.exit, 0)
  const doctor = ['agent', 'doctor', '--state-dir', stateDir, '--output', 'json']
  const { stdout } = spawnSync(process.execPath, [program, ...doctor], { encoding: 'utf8' })
  const rows = JSON.parse(stdout) as { check: string }[]
  t.match(
    rows.filter(({ check }) => ['agent', 'journal', 'rule_ports'].includes(check)),
    [
      { id: 'agent.not_running' },
      { status: 'ok', message: /\d/ },
      { check: 'journal', status: 'ok' },
      { status: 'ok', message: /^1 saved rule/ }
    ]
  )
})

t.test('an idle agent has loaded only this file, which contains no library of the server', async t => {
  const cluster = await testCluster(t)
  const list = join(cluster.dir, 'modules.json')
  const env = {
    NODE_OPTIONS: `--import=${join(root, 'test/support/list-modules.ts')}`,
    LOADED_MODULES: list
  }
  const { agent } = await startAgent(t, cluster, 'paris', { program, env })
  await push(t, cluster)
  agent.signal('SIGTERM')
  await agent.exit

  const loaded = JSON.parse(readFileSync(list, 'utf8')) as string[]
  t.same(
    loaded.filter(url => /\.[cm]?[jt]s$/.test(url)),
    [pathToFileURL(program).href]
  )
  t.notMatch(text, /^\/\/ node_modules\/(fastify|@mikro-orm|kysely|better-sqlite3|argon2|@peculiar)\//m)
  t.ok(text.length < 2.4 * 2 ** 20, `${text.length} bytes`)
  t.notMatch(
    text,
    /[^ -~\s]/,
    'only ASCII: V8 holds the source, with two bytes per character if any character needs them'
  )
  t.match(text, /^protobufjs\n\n.*Copyright/ms, 'the file contains the licenses of its libraries')
})

t.test('the file has only the commands of the agent', async t => {
  const run = (...args: string[]) =>
    spawnSync(program, args, {
      encoding: 'utf8',
      env: { ...process.env, PATH: `${join(process.execPath, '..')}:${process.env['PATH']}` }
    })

  t.match(run('agent', '--help').stdout, /check, doctor, enroll, health, links, run, status/)
  t.match(run('--version').stdout, /^\d+\.\d+\.\d+\n$/)
  t.match(run('rule', 'list'), { status: 2, stderr: /unknown command 'rule'/ })
  t.match(run('server'), { status: 2, stderr: /unknown command 'server'/ })
})

t.test(
  'a third-party plugin runs in the file with commands and metrics, and its errors name the plugin',
  async t => {
    const cluster = await testCluster(t, {}, `[plugins."${example}"]\n`)
    const config = join(cluster.dir, 'agent.toml')
    const collector = `http://127.0.0.1:${await freePort()}`
    writeFileSync(config, `[plugins."${example}"]\ncollector = "${collector}"\n[plugins."${dropper}"]\n`)
    const { agent } = await startAgent(t, cluster, 'paris', {
      args: ['--config', config],
      program
    })

    t.match(await get(`http://127.0.0.1:${await push(t, cluster, { connection_log: true })}`), /^hello from/)

    t.match(await agent.until('connection_log.not_shipped'), { msg: /1 lines lost/ })
    t.match(await agent.until('plugin.failed', ({ error }) => /dropped/.test(String(error))), {
      plugin: 'dropper'
    })
  }
)

t.test('a line of the file maps to its module: plugin, agent or library', async t => {
  const at = (comment: string): string => {
    const line = text.split('\n').indexOf(`// ${comment}`) + 2
    t.not(line, 1, comment)
    return `Error\n    at run (${pathToFileURL(program)}:${line}:1)`
  }

  t.equal(pluginOfStack(at('plugins/quota/agent.ts'), 'agent'), 'quota')
  t.equal(pluginOfStack(at('agent/agent.ts'), 'agent'), 'the agent')
  t.ok(hasPluginCode(at('agent/agent.ts')))
  t.notOk(hasPluginCode(at('node_modules/ulid/dist/node/index.js')))
})
