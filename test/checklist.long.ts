// Forty points that operators expect of such a product, checked on the real program where possible. A missing point is
// skipped with the reason.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { agentBundle } from '../config/build/agent/bundle.ts'
import { errorIndex } from '../config/build/error-index.ts'
import { manualPages } from '../config/build/manual-pages.ts'
import { index } from '../config/command-index.ts'
import { ownVersion } from '../kernel/platform/version.ts'
import { checks } from '../plugins/doctor/checks.ts'
import { formatUnit } from '../plugins/service/unit.ts'
import { freePort } from './support/ports.ts'
import { start } from './support/process.ts'
import { startAgent, testCluster, token } from './support/test-cluster.ts'

const root = join(import.meta.dirname, '..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')
const { scripts, files } = JSON.parse(read('package.json'))
const kindsOfPackages = /const makers[^{]*\{([^}]*)\}/.exec(read('config/packages/main.ts'))?.[1] ?? ''

const packagesDir = mkdtempSync(join(tmpdir(), 'sluice-packages-'))
t.teardown(() => rmSync(packagesDir, { recursive: true }))
writeFileSync(join(packagesDir, `sluice-${ownVersion()}-linux-x64.tar.gz`), 'packed') // the installer contains its hash
const cluster = await testCluster(t, { SVC_PACKAGES_DIR: packagesDir })
const edge = await startAgent(t, cluster, 'paris')
const rule = { client: 'paris', listen_port: await freePort(), targets: [{ host: '127.0.0.1', port: 9 }] }
const { rule_id } = await cluster.call<{ rule_id: string }>('POST', '/v1/rules', rule)

const authorization = `Bearer ${token}`
const answerTo = (path: string, init: RequestInit = {}) =>
  fetch(cluster.origin + path, { headers: { authorization }, ...init })

let points = 0
function provided(point: string, judge: (t: Test) => unknown): void {
  points++
  t.test(point, async t => void (await judge(t)))
}
function missing(point: string, skip: string): void {
  points++
  t.test(point, { skip }, () => {})
}

// The first hour
provided('one command starts server and agent, and prints the next command to paste', async t => {
  const up = start(t, ['up'], {
    SVC_DATA_DIR: join(t.testdir(), 'data'),
    SVC_OPERATOR_HTTP_LISTEN: `127.0.0.1:${await freePort()}`,
    SVC_CONTROL_LISTEN: `127.0.0.1:${await freePort()}`,
    SVC_METRICS_LISTEN: '127.0.0.1:0'
  })
  await up.until('client.connected')
  t.match(up.output(), / rule push /) // test/e2e/up.e2e.ts runs it
  up.signal('SIGTERM')
  t.equal(await up.exit, 0)
})
provided('no configuration key is required', t => t.match(read('config/server.toml'), /^(#.*\n|\n)*$/))
provided('creating the first administrator requires a token from the server log', async t => {
  const person = { user_id: 'ann', display_name: 'Ann', password: 'a long password' }
  const reply = await answerTo('/v1/auth/onboarding', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...person, password_confirmation: person.password })
  })
  t.not(reply.status, 201)
})

// Packages
provided('an installer for the version of the server', async t => {
  t.match(await (await answerTo('/install.sh')).text(), /^#!\/bin\/sh/)
})
provided('packages of a distribution', t => t.match(kindsOfPackages, 'deb'))
provided('the agent is a single file', async t => {
  const file = join(t.testdir(), 'agent.mjs')
  writeFileSync(file, await agentBundle())
  const { status, stdout } = spawnSync(process.execPath, [file, 'agent', '--help'], { encoding: 'utf8' })
  t.equal(status, 0)
  t.match(stdout, 'enroll')
})
if (/oci|image/.test(kindsOfPackages)) provided('a container image', t => t.pass(kindsOfPackages))
else missing('a container image', 'npm run packages does not make one yet')
missing('charts for Kubernetes', 'edge hosts are seldom in a cluster')
const hasAnalyzer = spawnSync('systemd-analyze', ['--version']).error === undefined
if (!hasAnalyzer) missing('sandboxed units', 'systemd-analyze is not installed')
else
  provided('sandboxed units', t => {
    for (const role of ['server', 'agent'] as const) {
      const file = join(t.testdir(), `sluice-${role}.service`)
      const program = [process.execPath, import.meta.filename]
      writeFileSync(file, formatUnit({ role, user: null, configFile: null, notifies: 'itself' }, program))
      const { stdout, stderr } = spawnSync('systemd-analyze', ['security', '--offline=true', file], {
        encoding: 'utf8'
      })
      const [, level = 'none'] = /exposure level for \S+: ([\d.]+)/.exec(stdout + stderr) ?? []
      t.ok(Number(level) <= 1.5, `${role}: ${level}`)
    }
  })
provided('readiness notification and watchdog for systemd', t => {
  for (const role of ['server', 'agent'] as const)
    t.match(
      formatUnit({ role, user: null, configFile: null, notifies: 'itself' }, []),
      /^Type=notify\n[\s\S]*^WatchdogSec=/m
    )
})

// Automation
provided('an OpenAPI document with servers, names and examples', async t => {
  const document = (await (await answerTo('/v1/openapi.json')).json()) as {
    readonly servers: readonly object[]
    readonly paths: object
    readonly components: { readonly schemas: object }
  }
  t.ok(document.servers.length > 0)
  t.ok(Object.keys(document.paths).length > 40)
  t.ok(Object.keys(document.components.schemas).length > 40)
  t.match(JSON.stringify(document), '"example')
})
provided('typed calls of the API, generated', t =>
  t.match(read('kernel/platform/api/operator-api.ts'), 'interface Operations')
)
missing('a provider for Terraform', 'publishing needs a registry account; apply and diff are declarative')
provided('an exported state file shows no difference to the server', async t => {
  const file = join(cluster.dir, 'state.toml')
  writeFileSync(file, (await cluster.cli(['export'])).stdout)
  const { code, stdout } = await cluster.cli(['diff', file, '--exit-code'])
  t.equal(code, 0, stdout)
})
provided('a stale version cannot overwrite a newer change', async t => {
  const headers = { authorization, 'if-match': '"nonsense"' }
  t.equal((await answerTo(`/v1/rules/${rule_id}`, { method: 'DELETE', headers })).status, 412)
})
provided('the exit code of diff shows a difference', async t => {
  const input = '[[users]]\nuser_id = "eve"\nrole = "user"\ndisplay_name = "Eve"\n'
  t.match(await cluster.cli(['diff', '-', '--exit-code'], input), { code: 9 })
})

// The command line
provided('shell completion offers names', async t => {
  t.match((await cluster.cli(['complete', '/v1/clients', 'client_name'])).stdout, 'paris')
})
provided('a manual page for each command', t => t.ok(manualPages().size > index.commands.length))
missing('a live view of everything', 'rule stats --watch shows one rule; the dashboard shows all')
provided('a console in the browser', async t => {
  const reply = await fetch(`${cluster.origin}/`, { headers: { accept: 'text/html' } })
  t.equal(reply.status, 200)
  t.match(await reply.text(), /<script[^>]* src="\/assets\//)
})
provided('a doctor with thirty findings', t => {
  t.ok(checks.flatMap(({ findings }) => Object.keys(findings)).length >= 30)
})
provided('each error code has its remedy at an address', async t => {
  const codes = Object.keys(await errorIndex())
  t.ok(codes.length > 130)
  t.match(await cluster.cli(['explain-error', 'port_in_use']), { code: 0, stdout: /remedy/ })
})

// Operation
provided('metrics', async t => {
  t.match(await (await answerTo('/v1/metrics')).text(), /^svc_rule_info\{.*client_name="paris".*\} 1$/m)
})
provided('alerts and a dashboard', t => {
  t.ok(read('config/deploy/alerts.yml').split('- alert:').length > 15)
  t.ok(JSON.parse(read('config/deploy/grafana-dashboard.json')).panels.length > 27)
})
provided('traces', async t => {
  t.match(await (await answerTo('/v1/metrics')).text(), /^svc_otlp_spans_total\{result="sent"\} 0$/m)
})
provided('the log level can change while the server runs', async t => {
  cluster.configure('log_level = "debug"\n')
  cluster.server.signal('SIGHUP')
  t.match(JSON.stringify(await cluster.server.until('server.reloaded')), 'log_level')
})
provided('health', async t => {
  for (const path of ['/livez', '/readyz']) t.equal((await answerTo(path)).status, 200, path)
})
provided('notifications', async t => {
  t.same(await cluster.json('notification', 'channels'), [])
})
provided('a backup of a running server', async t => {
  const file = join(cluster.dir, 'saved.backup')
  t.match(await cluster.cli(['backup', file, '--data-dir', join(cluster.dir, 'server')]), { code: 0 })
  t.ok(existsSync(file))
})
provided('a copy of the store before a migration', t => {
  t.match(read('plugins/cli/test/store-copy.e2e.ts'), 'migrat')
})
provided('an agent reloads its configuration while it runs', async t => {
  edge.agent.signal('SIGHUP')
  t.ok(await edge.agent.until('agent.reloaded'))
})
missing('sign-in by OIDC and passkeys', 'authenticators are plugins, such as the example proxy-sign-in')
provided('logs as JSON lines', t => {
  t.match(cluster.server.events[0], { level: /\w/, event: /\w/, msg: /\w/ })
})
provided('an audit log', async t => t.match(await cluster.json('audit'), [{ action: /\w/, actor: /\w/ }]))

// The project
provided('a security policy', t => t.match(read('SECURITY.md'), /report a vulnerability/))
missing('provenance', 'plugin files are pinned; an attestation needs a registry account')
provided('a license and a changelog', t => {
  for (const file of ['LICENSE', 'CHANGELOG.md']) t.ok(read(file).length > 1000, file)
})
provided('a guide for contributors', t => t.match(read('CONTRIBUTING.md'), 'npm test'))
provided('documentation that is tested, and a site', t => {
  for (const name of ['day', 'guide', 'site']) t.ok(scripts[name], name)
})
provided('a benchmark in the package', t => {
  t.ok(files.includes('dist'))
  t.match(read('config/build/site/documents.ts'), 'test/bench/RESULTS.md')
})

t.test('there are forty points', async t => t.equal(points, 40))
