// Deleting the folder of an optional plugin, and its lines in the lists, removes the feature and breaks nothing else.
import { spawnSync } from 'node:child_process'
import { cpSync, globSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import t, { type Test } from 'tap'
import { agentPlugins } from '../config/agent-plugins.ts'
import { plugins } from '../config/plugins.ts'
import { Client } from '../kernel/identity/entities.ts'
import { hashOf } from '../kernel/identity/secret.ts'
import { newId } from '../kernel/platform/id.ts'
import type { Builtin } from '../kernel/platform/plugins/load-plugins.ts'
import { testServer } from '../kit/test-server.ts'
import { startTestAgent } from './agent/test-agent.ts'
import { spawnChild } from './support/child-process.ts'

/** Plugins that cannot be deleted, and why. */
const required: Readonly<Record<string, string>> = {
  'advertised-endpoint': 'enrollment sends its endpoint to agents',
  certificate: 'control serves the certificate to agents',
  cli: 'it is the command line of the executable',
  clients: 'rules run on clients',
  control: 'the kernel needs the control stream',
  enrollment: 'the executable uses it to enroll agents',
  extensions: 'it judges the files of external plugins before they are loaded',
  http: 'the kernel needs the operator API',
  metrics: "the agent's metrics listener is made of its parts",
  rules: 'forwarding needs rules',
  servers: 'control delivers across the servers of one store',
  stats: "the agent's journal reports to its ledger",
  users: 'rules have owners'
}
/** Plugins that need another one, and are deleted with it. */
const goWith: Readonly<Record<string, readonly string[]>> = {
  auth: ['console', 'device-login', 'oidc', 'second-factor'],
  credentials: ['device-login'],
  grants: ['oidc'],
  secrets: ['oidc', 'second-factor']
}
const optional = Object.keys(plugins).filter(name => !Object.hasOwn(required, name))

const root = join(import.meta.dirname, '..')
const folders = ['kernel', 'plugins', 'agent', 'config', 'kit', 'native']
const lists = ['config/plugins.ts', 'config/commands.ts', 'config/agent-plugins.ts', 'plugins/public.ts']
/** An `export { ... } from` of one or more lines. */
const exportList = /^export (?:type )?\{[^}]*\} from '[^']+'\n/gm
const files = globSync(`{${folders}}/**/*.ts`, { cwd: root }).filter(isProduct)
const imports = files
  .filter(file => !lists.includes(file))
  .flatMap(from =>
    [...readFileSync(join(root, from), 'utf8').matchAll(/(?:from |import\()'(\.[^']+)'/g)].map(
      ([, to = '']) => ({ from, to: normalize(join(dirname(from), to)) })
    )
  )

function isProduct(path: string): boolean {
  return !/(^|\/)(test|template|node_modules|build|packages|dist)(\/|$)/.test(path)
}

for (const name of optional)
  t.test(`without ${name}, nothing imports it, and server and agent forward a rule`, async t => {
    // A file that imports no deleted file still type-checks.
    const gone = [name, ...(goWith[name] ?? [])]
    const isInside = (file: string): boolean => gone.some(folder => file.startsWith(`plugins/${folder}/`))
    t.same(
      imports.filter(({ from, to }) => isInside(to) && !isInside(from)),
      []
    )
    const { call, server } = await testServer(t, {
      plugins: Object.keys(plugins).filter(other => !gone.includes(other))
    })
    const { store, control } = server.depsOf('clients')
    await store.change(em =>
      em.insert(Client, {
        id: newId(1),
        name: 'edge',
        tokenHash: hashOf('token'),
        revision: 0,
        enrolledAt: 1
      })
    )
    startTestAgent(t, {
      dir: t.testdir({ agent: {} }),
      server: { endpoint: `127.0.0.1:${control.port()}`, fingerprint: control.fingerprint },
      plugins: await loadWithout(name, agentPlugins),
      token: 'token'
    })
    await until(
      async () => (await call<{ state: string }[]>('GET', '/v1/clients')).body[0]?.state === 'connected'
    )

    const rule = { client: 'edge', listen_port: 8080, targets: [{ host: '10.0.0.1', port: 80 }] }
    t.match(await call('POST', '/v1/rules', rule), { status: 201, body: { state: 'active' } })
  })

t.test('without optional plugins the tree type-checks, and its server starts', async t => {
  const dir = treeWithout(t, optional)

  const checked = spawnSync(join(root, 'node_modules/.bin/tsc'), ['--noEmit', '--checkers', '2'], {
    cwd: dir,
    encoding: 'utf8',
    env: { ...process.env, NODE_OPTIONS: '' } // tsc cannot load under tap's module hooks
  })
  t.match(checked, { status: 0, stdout: '' }, `${checked.stdout}${checked.stderr}`)

  const output = await outputUntil(t, dir, 'server.started')
  t.match(output, /serves http:/)
})

function loadWithout<P>(name: string, list: Builtin<P>): Promise<P[]> {
  const kept = Object.entries(list).filter(([other]) => other !== name)
  return Promise.all(kept.map(async ([, load]) => (await load()).default))
}

function treeWithout(t: Test, names: readonly string[]): string {
  const dir = t.testdir({})
  for (const folder of folders)
    cpSync(join(root, folder), join(dir, folder), {
      recursive: true,
      filter: path => isProduct(path.slice(root.length))
    })
  for (const file of ['package.json', 'tsconfig.json']) cpSync(join(root, file), join(dir, file))
  symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'))
  for (const name of names) rmSync(join(dir, 'plugins', name), { recursive: true })
  const isDeleted = (line: string): boolean =>
    names.some(name => line.includes(`/plugins/${name}/`) || line.includes(`'./${name}/`))
  for (const list of lists) {
    const text = readFileSync(join(dir, list), 'utf8').replace(exportList, all => (isDeleted(all) ? '' : all))
    const lines = text.split('\n').filter(line => !isDeleted(line))
    writeFileSync(join(dir, list), lines.join('\n'))
  }
  return dir
}

/** Starts the server of the tree, and resolves with its output once that contains the event. */
function outputUntil(t: Test, dir: string, event: string): Promise<string> {
  const child = spawnChild(
    process.execPath,
    [join(dir, 'kernel/bin.ts'), 'server', '--data-dir', join(dir, 'data')],
    {
      env: {
        ...process.env,
        SVC_OPERATOR_TOKEN: 'operator-token-of-the-deletion-test-0123456789',
        SVC_OPERATOR_HTTP_LISTEN: '127.0.0.1:0',
        SVC_CONTROL_LISTEN: '127.0.0.1:0',
        SVC_METRICS_LISTEN: '127.0.0.1:0'
      }
    }
  )
  t.teardown(() => child.kill())
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let output = ''
  const read = (chunk: Buffer): void => {
    output += chunk
    if (output.includes(event)) resolve(output)
  }
  child.stdout.on('data', read)
  child.stderr.on('data', read)
  child.once('exit', code => reject(new Error(`exit ${code}: ${output}`)))
  return promise
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise(resolve => setImmediate(resolve))
}
