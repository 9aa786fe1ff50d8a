import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ownVersion } from '../../../kernel/platform/version.ts'
import { testServer } from '../../../kit/test-server.ts'

const name = (machine: string): string => `sluice-${ownVersion()}-${machine}.tar.gz`
const hash = (text: string): string => createHash('sha256').update(text).digest('hex')
const anonymous = { authorization: '' }

// Shared by all tests, because testServer recreates the folder of its test.
const folders = t.testdir({
  empty: { 'sluice-0.0.1-linux-x64.tar.gz': 'of another version' },
  full: { [name('linux-x64')]: 'one', [name('linux-arm64-musl')]: 'two', 'other.tar.gz': 'no' }
})
const empty = join(folders, 'empty')
const dir = join(folders, 'full')

t.test('without packages the script is refused, with a remedy', async t => {
  for (const [keys, why] of [
    [{}, /packages_dir is not set/],
    [{ packages_dir: empty }, /has no tarball of/],
    [{ packages_dir: join(empty, 'nowhere') }, /cannot be read/]
  ] as const) {
    const { call } = await testServer(t, { keys })

    const reply = await call<{ error: object }>('GET', '/install.sh', undefined, anonymous)

    t.match(reply, { status: 404, body: { error: { code: 'installer_unavailable', message: why } } })
    t.match(reply.text, `put ${name('linux-x64')} into`)
  }
})

t.test('the script has the hash of each package, and is the same for every caller', async t => {
  const { call } = await testServer(t, { keys: { packages_dir: dir } })
  const read = async (path: string) => call('GET', path, undefined, anonymous)

  const { text: script } = await read('/install.sh')
  t.match(script, `  linux-x64) hash=${hash('one')} ;;\n`)
  t.match(script, `  linux-arm64-musl) hash=${hash('two')} ;;\n`)
  t.notMatch(script, /@[A-Z]+@/)
  t.equal(spawnSync('sh', ['-n'], { input: script }).status, 0, 'a shell can read it')
  t.match(await call('GET', '/v1/installer'), {
    status: 200,
    body: { version: ownVersion(), script_sha256: hash(script), machines: ['linux-arm64-musl', 'linux-x64'] }
  })

  t.match(await read(`/install/${name('linux-x64')}`), { status: 200, text: 'one' })
  for (const other of ['other.tar.gz', '..%2fserver.toml', name('linux-x64-musl')])
    t.match(await read(`/install/${other}`), { status: 404 }, other)

  writeFileSync(join(dir, name('linux-x64')), 'another one')
  t.match((await read('/install.sh')).text, `  linux-x64) hash=${hash('another one')} ;;\n`)
})
