// Exit codes and messages of failed starts and stops, with the real program.
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { lockStore } from '../../../kernel/store/data-dir.ts'
import { openStore } from '../../../kernel/store/open.ts'
import { privateDir } from '../../../test/support/private-dir.ts'
import { sluice, start } from '../../../test/support/process.ts'
import { notOnPostgres } from '../../../test/support/store.ts'
import { unsuitableFilesystem } from '../server/check-filesystem.ts'

const freePorts = {
  SVC_OPERATOR_HTTP_LISTEN: '127.0.0.1:0',
  SVC_CONTROL_LISTEN: '127.0.0.1:0',
  SVC_METRICS_LISTEN: '127.0.0.1:0'
}

const failedStart = async (dir: string, env: Record<string, string> = {}, ...args: string[]) => {
  const { code, stderr } = await sluice(['server', '--data-dir', dir, ...args], { ...freePorts, ...env })
  return { exit: code, stderr }
}

t.test('a start with a data directory in use by another server fails with 75', async t => {
  const dir = privateDir(t)
  t.teardown(lockStore(dir))

  t.match(await failedStart(dir), {
    exit: 75,
    stderr: /^startup\.store_in_use: .*stop it, or give another data_dir/
  })
})

t.test(
  'a start with a database of a newer build fails with 78 and names the migration',
  {
    skip: notOnPostgres(
      'servers of two releases share a database there: see test/postgres/rolling-upgrade.postgres.ts'
    )
  },
  async t => {
    const dir = privateDir(t)
    const store = await openStore(join(dir, 'sluice.db'), [])
    await store.change(em => em.execute("insert into schema_migration (name) values ('kernel/9999-later')"))
    await store.close()

    t.match(await failedStart(dir), {
      exit: 78,
      stderr: /^startup\.schema_version_too_new: kernel: .*schema 9999.*start the newer build/
    })
  }
)

const tmpfs = '/dev/shm'
const skip = unsuitableFilesystem(tmpfs) === 'tmpfs' ? false : 'there is no tmpfs at /dev/shm'

t.test('a start on a filesystem without durable storage fails with 78', { skip }, async t => {
  const dir = mkdtempSync(join(tmpfs, 'sluice-test-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))

  t.match(await failedStart(dir), {
    exit: 78,
    stderr: /^startup\.unsupported_filesystem: .* is on tmpfs; give a data_dir on a local disk/
  })
})

t.test(
  'a start with a damaged store fails with 78 and a remedy',
  { skip: notOnPostgres('it is a file of SQLite') },
  async t => {
    const dir = privateDir(t)
    writeFileSync(join(dir, 'sluice.db'), 'no database'.repeat(1000), { mode: 0o600 })

    t.match(await failedStart(dir), {
      exit: 78,
      stderr: /^startup\.store_unusable: .*sluice\.db is damaged: .*run sluice restore/
    })
    t.match(await sluice(['reset-password', 'root', '--temporary', '--data-dir', dir], freePorts), {
      code: 78,
      stderr: /^startup\.store_unusable: /
    })
  }
)

t.test('a start with an invalid directory, certificate, plugin, address or token fails with 78', async t => {
  const dir = t.testdir({ file: '', 'other.pem': 'no certificate' })
  const config = join(dir, 'server.toml')
  const pem = join(dir, 'other.pem')
  chmodSync(pem, 0o600)
  mkdirSync(join(dir, 'open'))
  writeFileSync(join(dir, 'open', 'key.pem'), '', { mode: 0o644 })
  const tls = (file: string) => ({ SVC_TLS_CERT_PATH: file, SVC_TLS_KEY_PATH: file })
  writeFileSync(config, '\n[plugins.quta]\nenabled = false\n')

  const table: readonly [RegExp, ReturnType<typeof failedStart>][] = [
    [/^startup\.data_dir_unusable: .*file cannot be used/, failedStart(join(dir, 'file'))],
    [/^startup\.tls_invalid: .*must be a PEM certificate/, failedStart(join(dir, 'a'), tls(pem))],
    [/^startup\.tls_invalid: .*give both, or none/, failedStart(join(dir, 'b'), { SVC_TLS_CERT_PATH: pem })],
    [
      /^startup\.insecure_permissions: .*chmod 600/,
      failedStart(join(dir, 'c'), tls(join(dir, 'open', 'key.pem')))
    ],
    [
      /^startup\.config_invalid: .*server\.toml:2: plugins\.quta: .*did you mean quota\?/,
      failedStart(join(dir, 'd'), {}, '--config', config)
    ],
    [
      /^startup\.listen_failed: control_listen/m,
      failedStart(join(dir, 'e'), { SVC_CONTROL_LISTEN: '192.0.2.99:1' })
    ],
    [
      /^startup\.config_invalid: SVC_OPERATOR_TOKEN: operator_token/,
      failedStart(join(dir, 'f'), { SVC_OPERATOR_TOKEN: 'short' })
    ],
    [
      /^startup\.config_invalid: SVC_STORE_URL: store_url must be sqlite:, or postgres:/m,
      failedStart(join(dir, 'g'), { SVC_STORE_URL: 'sqlite:/elsewhere/store.db' })
    ],
    [
      /^startup\.config_invalid: SVC_STORE_URL: store_url must be sqlite:, or postgres:(?![\s\S]*a-secret)/m,
      failedStart(join(dir, 'h'), { SVC_STORE_URL: 'postgres://sluice:a-secret@127.0.0.1/sluice' })
    ]
  ]
  for (const [variable, value] of [
    ['SVC_OPERATOR_HTTP_LISTEN', '127.0.0.1:70800'],
    ['SVC_CONTROL_LISTEN', '127.0.0.1:74430'],
    ['SVC_METRICS_LISTEN', '127.0.0.1:70810'],
    ['SVC_DRAIN_TIMEOUT_SECS', '1.9'],
    ['SVC_OPERATOR_HTTP_PUBLIC_ORIGIN', 'https://X.example'],
    ['SVC_OPERATOR_HTTP_PUBLIC_ORIGIN', 'https://x.example:443']
  ] as const) {
    const key = variable.slice('SVC_'.length).toLowerCase()
    const message = new RegExp(`^startup\\.config_invalid: ${variable}: ${key} must be`)
    t.match(await failedStart(join(dir, 'g'), { [variable]: value }), { exit: 78, stderr: message }, variable)
  }
  for (const [stderr, result] of table) t.match(await result, { exit: 78, stderr }, String(stderr))
})

const offline = { SVC_STORE_URL: 'postgres://sluice@127.0.0.1:1/sluice', SVC_STORE_PASSWORD: 'a-secret' }

t.test('an offline database ends a command with 6, but the server waits for it until SIGTERM', async t => {
  const dir = join(t.testdir(), 'data')
  const reset = ['reset-password', 'root', '--temporary', '--data-dir', dir]
  const message = /the database sluice at 127\.0\.0\.1:1 cannot be opened: .*start PostgreSQL/
  const { code, stderr } = await sluice(reset, { ...freePorts, ...offline })
  t.match({ code, stderr }, { code: 6, stderr: message })
  t.match(stderr, /^store_unavailable: (?![\s\S]*a-secret)/)

  const server = start(t, ['server', '--data-dir', dir], { ...freePorts, ...offline })
  t.match(await server.until('store.awaited'), { level: 'warn', msg: message })
  server.signal('SIGTERM')

  t.equal(await server.exit, 0)
  t.notMatch(server.output(), /a-secret/)
})

t.test('a port in use ends the wait for an offline database with 78', async t => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  t.teardown(() => taken.close())
  const { port } = taken.address() as { port: number }

  t.match(
    await failedStart(join(t.testdir(), 'data'), { ...offline, SVC_METRICS_LISTEN: `127.0.0.1:${port}` }),
    { exit: 78, stderr: /^startup\.listen_failed: metrics_listen 127\.0\.0\.1/m }
  )
})

const plugin = (name: string, command: string) =>
  `export default { name: '${name}', version: '1.0.0', kernel: '^2.0.0', commands: [{ name: '${command}', summary: '', args: { properties: {} }, needs: 'nothing' }] }`

t.test('a start with conflicting commands fails with 78 and names both plugins', async t => {
  const dir = t.testdir({
    a: { 'plugin.js': plugin('a', 'shout loud') },
    b: { 'plugin.js': plugin('b', 'shout loud') },
    c: { 'plugin.js': plugin('c', 'rule') },
    d: { 'plugin.js': plugin('d', 'agent run') }
  })
  chmodSync(dir, 0o755)
  const config = join(dir, 'server.toml')
  writeFileSync(config, ['a', 'b', 'c', 'd'].map(name => `[plugins."./${name}"]\n`).join(''))

  const { exit, stderr } = await failedStart(join(dir, 'data'), {}, '--config', config)

  t.equal(exit, 78)
  t.match(stderr, /^startup\.plugin_failed: .*agent run of sluice and command agent run of d conflict/)
  t.match(stderr, /command shout loud of a and command shout loud of b conflict/)
  t.match(stderr, /command rule list of rules and command rule of c conflict/)
  t.notMatch(stderr, / at /)
})

t.test(
  'a start with two plugins of the same name fails with 78 and names their configuration entries',
  async t => {
    const dir = t.testdir({
      a: { 'plugin.js': plugin('a', 'shout') },
      b: { 'plugin.js': plugin('a', 'shout') }
    })
    chmodSync(dir, 0o755)
    const config = join(dir, 'server.toml')
    writeFileSync(config, '[plugins."./a"]\n[plugins."./b"]\n')
    t.match(await failedStart(join(dir, 'data'), {}, '--config', config), {
      exit: 78,
      stderr: /plugin \.\/b: its name a is also the name of \.\/a; remove one of them/
    })
  }
)

t.test('a start with an invalid plugins table or enabled value fails with 78', async t => {
  const dir = t.testdir()
  const config = join(dir, 'server.toml')
  for (const [text, stderr] of [
    ['plugins = 3', /plugins must be object/],
    ['[plugins]\n"./acme" = "x"', /plugins\."\.\/acme" must be object/],
    ['[plugins."./acme"]\nenabled = "no"', /plugins\."\.\/acme"\.enabled must be boolean/]
  ] as const) {
    writeFileSync(config, text)
    t.match(await failedStart(join(dir, 'data'), {}, '--config', config), { exit: 78, stderr }, text)
  }
})

t.test('config check reports the configuration errors of a start, without a start', async t => {
  const dir = t.testdir({
    'a.toml': '[plugins.rules]\nx = 1\n',
    'b.toml': '[plugins.users]\nenabled = false\n'
  })
  const check = (file: string) => sluice(['config', 'check', '--config', join(dir, file)])

  t.match(await check('a.toml'), { code: 78, stderr: /a\.toml:2: unknown key plugins\.rules\.x/ })
  t.match(await check('b.toml'), { code: 78, stderr: /needs users/ })
  t.match(await sluice(['config', 'check', join(dir, 'b.toml')]), { code: 78, stderr: /needs users/ })
  t.match(await sluice(['config', 'check', '--data-dir', join(dir, 'data')]), { code: 0 })
  t.match(await sluice(['config', 'check']), { code: 0, stdout: 'the configuration is valid\n' })
})

t.test(
  'a plugin that fails to release a resource is named in the log, and the stop exits with 1',
  async t => {
    const stuck = `export default { name: 'stuck', version: '1.0.0', kernel: '^2.0.0',
    async start({ defer }) { defer(() => Promise.reject(new Error('no way back'))) } }`
    const dir = t.testdir({ stuck: { 'plugin.js': stuck }, 'server.toml': '[plugins."./stuck"]' })
    chmodSync(dir, 0o755)
    const server = start(
      t,
      ['server', '--data-dir', join(dir, 'data'), '--config', join(dir, 'server.toml')],
      freePorts
    )
    await server.until('server.started')

    server.signal('SIGTERM')

    t.equal(await server.exit, 1)
    t.match(await server.until('server.not_released'), { msg: 'plugin stuck did not stop: no way back' })
    t.match(server.output(), /^internal: some resources were not released; see the log$/m)
    t.notMatch(server.output(), /^ +at /m)
  }
)
