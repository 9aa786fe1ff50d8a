// The two pins of a bundle: the current certificate and the next one.
import { join } from 'node:path'
import t from 'tap'
import { promoteNextPin, readBundle, saveNextPin, writeBundle } from '../../agent/stream/bundle.ts'

const old = 'a'.repeat(64)

const next = 'b'.repeat(64)
const bundle = {
  version: 1 as const,
  client_id: '1',
  client_name: 'paris',
  server_endpoint: 'localhost:1',
  server_cert_sha256: old,
  token: 'token'
}

t.test('a next pin is saved, replaced, promoted and removed', async t => {
  const file = join(t.testdir(), 'bundle.json')
  writeBundle(file, bundle)

  t.ok(saveNextPin(file, 'token', 'c'.repeat(64)))
  t.ok(saveNextPin(file, 'token', next))
  t.same(readBundle(file), { ...bundle, next_server_cert_sha256: next })
  promoteNextPin(file, 'token')
  t.same(readBundle(file), { ...bundle, server_cert_sha256: next })
  promoteNextPin(file, 'token')
  t.ok(saveNextPin(file, 'token', ''))
  t.same(readBundle(file), { ...bundle, server_cert_sha256: next })
})

t.test('a bundle of another enrollment stays unchanged', async t => {
  const file = join(t.testdir(), 'bundle.json')
  writeBundle(file, bundle)

  t.notOk(saveNextPin(file, 'another', next))
  promoteNextPin(file, 'another')

  t.same(readBundle(file), bundle)
})
