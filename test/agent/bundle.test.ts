import {
  chmodSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  hasPending,
  markRevoked,
  readBundle,
  readPending,
  writeBundle,
  writePending
} from '../../agent/stream/bundle.ts'

const pending = {
  version: 1 as const,
  server_endpoint: 'edge.example:7443',
  server_cert_sha256: 'ab'.repeat(32),
  token: 'token-one'
}
const bundle = { ...pending, client_id: '01J0000000000000000000000A', client_name: 'edge' }

t.test('a bundle is read as it was written, and only its owner can read the file', async t => {
  const file = join(t.testdir(), 'bundle.json')
  t.equal(readBundle(file), null)

  writePending(file, pending)
  t.same(readPending(file), pending)
  writeBundle(file, bundle)

  t.same(readBundle(file), bundle)
  t.equal(hasPending(file), false, 'the pending enrollment is deleted')
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.same(readdirSync(join(file, '..')), ['bundle.json'], 'no temporary file is left')
})

t.test('a link in the state directory does not lead the writer of a bundle to another file', async t => {
  const dir = t.testdir({ state: {}, shadow: 'secret' })
  const file = join(dir, 'state/bundle.json')
  const victim = join(dir, 'shadow')
  for (const link of [file, `${file}.${process.pid}.tmp`]) symlinkSync(victim, link)

  writeBundle(file, bundle)

  t.equal(readFileSync(victim, 'utf8'), 'secret')
  t.ok(lstatSync(file).isFile())
  t.same(readdirSync(join(dir, 'state')), ['bundle.json'])
})

t.test('a bundle is marked only while it has the revoked token', async t => {
  const file = join(t.testdir(), 'bundle.json')
  writeBundle(file, bundle)

  markRevoked(file, 'another', '2026-01-01T00:00:00.000Z')
  t.equal(readBundle(file)?.revoked_at, undefined)
  markRevoked(file, bundle.token, '2026-01-01T00:00:00.000Z')
  t.equal(readBundle(file)?.revoked_at, '2026-01-01T00:00:00.000Z')
})

t.test('a bundle that is invalid or that others can read is refused with a remedy', async t => {
  const file = join(t.testdir(), 'bundle.json')
  const broken: [text: string, message: RegExp][] = [
    ['{', /is not JSON/],
    ['{"version": 2}', /unknown format/],
    [JSON.stringify({ ...bundle, server_cert_sha256: 'short' }), /unknown format/]
  ]
  for (const [text, message] of broken) {
    writeFileSync(file, text, { mode: 0o600 })
    t.throws(() => readBundle(file), { errorCode: { exit: 78 }, message })
  }
  writeFileSync(file, JSON.stringify(bundle))
  chmodSync(file, 0o644)
  t.throws(() => readBundle(file), {
    errorCode: { code: 'startup.insecure_permissions' },
    message: /chmod 600/
  })
  t.match(readFileSync(file, 'utf8'), bundle.token)
})
