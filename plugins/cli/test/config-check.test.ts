// A configuration that `config check` accepts is one that `server` starts with, and both refuse with the same words.
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { TObject, TSchema } from 'typebox'
import { builtinPlugins } from '../../../config/builtin-plugins.ts'
import { Fault } from '../../../kernel/base/errors.ts'
import { Releases } from '../../../kernel/base/releases.ts'
import { readConfigFile } from '../../../kernel/platform/config-file.ts'
import { serverKeys } from '../../../kernel/settings.ts'
import { readPlace } from '../../../kernel/store/sql/database.ts'
import { privateDir } from '../../../test/support/private-dir.ts'
import { loadManifests } from '../program/load-manifests.ts'
import { openServerContext } from '../server/server-context.ts'

const builtin = builtinPlugins.server

type Table = Readonly<Record<string, unknown>>

const freePorts = {
  operator_http_listen: '127.0.0.1:0',
  control_listen: '127.0.0.1:0',
  metrics_listen: '127.0.0.1:0'
}

async function verdictOf(work: () => Promise<unknown>): Promise<string> {
  try {
    await work()
    return 'accepted'
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return `${error.errorCode.code}: ${error.message}`
  }
}

async function contextOf(path: string, stop: AbortController) {
  const file = readConfigFile(path)
  const manifests = await loadManifests(builtin, {}, file)
  const lifetime = { signal: stop.signal, acquired: new Releases() }
  return openServerContext({ ...manifests, version: '2.0.0', file }, {}, lifetime)
}

/** Returns what a check and then a start say of a file. */
async function bothVerdicts(path: string) {
  const stop = new AbortController()
  const check = await verdictOf(async () => (await contextOf(path, stop)).check())
  const start = await verdictOf(async () => {
    const { done } = await (await contextOf(path, stop)).serve({ onLog: () => {} })
    stop.abort()
    await done
  })
  return { check, start }
}

const tomlOf = (keys: Table): string =>
  Object.entries(keys)
    .map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`)
    .join('')

/** Wrong values by the form of a key, and by its name where its meaning counts. */
const wrongValues = (key: string, schema: TSchema): readonly unknown[] => {
  if (key in special) return special[key] ?? []
  if ('isPath' in schema) return ['~/x', 'x', '/x\r', '"/x"', ' /x', '/x ', '$HOME/x', '']
  if (key.endsWith('_listen'))
    return ['7080', 'a b:1', '127.0.0.1:70000', '[:::]:1', '192.0.2.99:1', '1.2.3:1']
  if ('minimum' in schema) return ['1', 1.5, -1]
  return ['\u0000', 'no such value\r']
}

const special: Readonly<Record<string, readonly unknown[]>> = {
  operator_token: [
    'short',
    '"quoted-token"',
    'a-token-and\r',
    ' a-token-before',
    'a token within',
    'tökentöken'
  ],
  trusted_proxies: [['10.0.0.0/8 192.0.2.1'], ['10.0.0.0/33'], ['::/0'], ['proxy.example'], ['']],
  operator_http_hosts: [['A.example'], ['a:1']],
  store_url: ['sqlite:/elsewhere.db', 'postgres://u:p@h/d', 'mysql://h/d'],
  store_listen_url: ['sqlite:'],
  store_password: ['a-password\n', "'a-password'"],
  packages_dir: ['packages', '~/packages'],
  advertised_endpoint: [[3], 'a.example:7443, b.example:7443', 'a.example', ['a.example:7443', '']],
  server_id: ['a b', '-'],
  operator_http_public_origin: ['x.example', 'https://X.example', 'https://x.example/path'],
  log_level: ['loud'],
  log_format: ['xml']
}

t.test('config check and a start refuse each wrong value of each key with the same words', async t => {
  const { plugins } = await loadManifests(builtin, {}, null)
  const schemas: Readonly<Record<string, TSchema>> = Object.assign(
    {},
    serverKeys.properties,
    ...plugins.map(({ keys }) => (keys as TObject | undefined)?.properties ?? {})
  )
  const dir = privateDir(t)
  const path = join(dir, 'server.toml')
  for (const [key, schema] of Object.entries(schemas))
    for (const value of wrongValues(key, schema)) {
      const keys = { ...freePorts, data_dir: join(dir, 'data'), [key]: value }
      writeFileSync(path, tomlOf(keys), { mode: 0o600 })
      const { check, start } = await bothVerdicts(path)
      t.equal(check, start, `${key} = ${JSON.stringify(value)}`)
      t.match(check, /^startup\.\w+: /, `${key} = ${JSON.stringify(value)} is refused`)
      if (/token|password$/.test(key)) t.notMatch(check, String(value).trim(), 'the secret is not shown')
    }
})

t.test('a password file of the store that is not UTF-8 is refused and named', async t => {
  const file = join(privateDir(t), 'latin1')
  writeFileSync(file, Buffer.from('caf\u00e9\n', 'latin1'), { mode: 0o600 })

  t.throws(() => readPlace({ store_url: 'postgres://u@127.0.0.1/d', store_password_file: file }, ''), {
    errorCode: { code: 'startup.config_invalid' },
    message: `store_password_file ${file}: it is not UTF-8; save it in UTF-8`
  })
})

t.test(
  'config check and a start say the same of certificates, keys, password files and directories',
  async t => {
    const dir = privateDir(t)
    const data = join(dir, 'data')
    const pem = join(dir, 'other.pem')
    writeFileSync(pem, 'no certificate', { mode: 0o600 })
    writeFileSync(join(dir, 'open.key'), 'no key')
    chmodSync(join(dir, 'open.key'), 0o644)
    mkdirSync(join(dir, 'open'))
    chmodSync(join(dir, 'open'), 0o755)
    writeFileSync(join(dir, 'quoted'), '"a-secret"\n', { mode: 0o600 })
    writeFileSync(join(dir, 'windows'), 'a-secret\r\n\r\n', { mode: 0o600 })
    writeFileSync(join(dir, 'latin1'), Buffer.from('a-secret with \u00fc\n', 'latin1'), { mode: 0o600 })
    const postgres = { store_url: 'postgres://u@127.0.0.1:1/d' }
    const cases: readonly (Table & { readonly plugins?: Readonly<Record<string, Table>> })[] = [
      { tls_cert_path: pem },
      { tls_key_path: pem },
      { tls_cert_path: pem, tls_key_path: pem },
      { tls_cert_path: pem, tls_key_path: join(dir, 'open.key') },
      { tls_cert_path: join(dir, 'missing'), tls_key_path: pem },
      { operator_http_tls_cert_path: pem },
      { operator_http_tls_cert_path: pem, operator_http_tls_key_path: pem },
      { operator_http_tls_cert_path: pem, operator_http_tls_key_path: join(dir, 'open.key') },
      { operator_http_tls_cert_path: pem, operator_http_tls_key_path: join(dir, 'missing') },
      { operator_http_tls_cert_path: dir, operator_http_tls_key_path: pem },
      { ...postgres, store_password_file: join(dir, 'missing') },
      { ...postgres, store_password_file: join(dir, 'open.key') },
      { ...postgres, store_password_file: join(dir, 'quoted') },
      { ...postgres, store_password_file: join(dir, 'windows') },
      { ...postgres, store_password_file: join(dir, 'latin1') },
      { data_dir: join(dir, 'open') },
      { data_dir: pem },
      { data_dir: join(pem, 'data') },
      { operator_http_listen: '127.0.0.1:22999', metrics_listen: '0.0.0.0:22999' },
      { control_listen: '[::]:22999', metrics_listen: '127.0.0.1:22999' },
      { plugins: { control: { enabled: false } } },
      { plugins: { users: { enabled: false } } },
      { plugins: { http: { nope: 1 } } }
    ]
    const path = join(dir, 'server.toml')
    for (const { plugins = {}, ...given } of cases) {
      const sections = Object.entries(plugins).map(
        ([name, section]) => `[plugins.${name}]\n${tomlOf(section)}`
      )
      writeFileSync(path, tomlOf({ ...freePorts, data_dir: data, ...given }) + sections.join(''), {
        mode: 0o600
      })
      const { check, start } = await bothVerdicts(path)
      const label = JSON.stringify({ ...given, ...plugins }).replaceAll(dir, '')
      t.equal(check, start, label)
      t.match(check, /^startup\.\w+: /, `${label} is refused`)
      t.notMatch(check, 'a-secret', 'the secret is not shown')
    }
  }
)

t.test(
  'config check beside a running server accepts its configuration, and refuses a port of another process',
  async t => {
    const dir = privateDir(t)
    const path = join(dir, 'server.toml')
    const write = (listen: string) =>
      writeFileSync(path, tomlOf({ ...freePorts, data_dir: join(dir, 'data'), operator_http_listen: listen }))
    write('127.0.0.1:0')
    const stop = new AbortController()
    const { origin, done } = await (await contextOf(path, stop)).serve({ onLog: () => {} })
    t.teardown(() => {
      stop.abort()
      return done
    })
    write(new URL(origin).host)
    await (await contextOf(path, stop)).check()

    const { port } = new URL(origin)
    writeFileSync(
      path,
      tomlOf({ ...freePorts, data_dir: join(dir, 'other'), metrics_listen: `127.0.0.1:${port}` })
    )
    const both = await bothVerdicts(path)
    t.equal(both.check, both.start)
    t.match(
      both.check,
      /^startup\.listen_failed: metrics_listen 127\.0\.0\.1:\d+: .*EADDRINUSE.*give another address/
    )
  }
)
