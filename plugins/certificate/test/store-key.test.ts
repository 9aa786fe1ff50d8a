// The key of a store: its file, and what it seals.
import { chmodSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { makeStoreKey, readStoreKey, storeKeyFile } from '../store-key.ts'

const secret = '-----BEGIN PRIVATE KEY-----\nMIG é\n-----END PRIVATE KEY-----\n'

t.test('a sealed text opens with the same key, and does not show', async t => {
  const dir = t.testdir()
  t.equal(readStoreKey(dir), null)
  const key = makeStoreKey(dir)
  const again = readStoreKey(dir)

  const sealed = key.seal(secret, 'about')
  t.equal(again?.open(sealed, 'about'), secret)
  t.equal(again?.id, key.id)
  t.not(key.seal(secret, 'about'), sealed, 'a nonce is used once')
  t.notMatch(Buffer.from(sealed, 'base64').toString('latin1'), 'PRIVATE')
  t.equal(key.open(key.seal('', ''), ''), '')
})

t.test('a link in the data directory does not lead the writer of a key to another file', async t => {
  const dir = t.testdir({ data: {}, shadow: 'secret' })
  symlinkSync(join(dir, 'shadow'), `${storeKeyFile(join(dir, 'data'))}.new`)

  makeStoreKey(join(dir, 'data'))

  t.equal(readFileSync(join(dir, 'shadow'), 'utf8'), 'secret')
})

t.test('a changed byte, another key and another meaning do not open', async t => {
  const dir = t.testdir({ other: {} })
  const [key, other] = [makeStoreKey(dir), makeStoreKey(join(dir, 'other'))]
  const sealed = Buffer.from(key.seal(secret, 'about'), 'base64')

  for (const at of sealed.keys()) {
    const changed = Buffer.from(sealed)
    changed[at] = (changed[at] ?? 0) ^ 1
    t.equal(key.open(changed.toString('base64'), 'about'), null, `byte ${at}`)
  }
  for (const length of [0, 11, 12, 27, 28, sealed.length - 1])
    t.equal(key.open(sealed.subarray(0, length).toString('base64'), 'about'), null, `${length} bytes`)
  t.equal(key.open(sealed.toString('base64'), 'About'), null)
  t.equal(other.open(sealed.toString('base64'), 'about'), null)
  t.not(other.id, key.id)
})

t.test('the file is for its owner only, and one that is none is refused without a word of it', async t => {
  const dir = t.testdir()
  const file = storeKeyFile(dir)
  makeStoreKey(dir)
  const text = readFileSync(file, 'utf8')
  t.match(text, /^[\w-]{43}\n$/)
  t.equal(statSync(file).mode & 0o777, 0o600)

  chmodSync(file, 0o640)
  t.throws(() => readStoreKey(dir), {
    errorCode: { code: 'startup.insecure_permissions' },
    message: /chmod 600/
  })
  chmodSync(file, 0o600)
  for (const wrong of ['', text.slice(1), `${text.trim()}A`, `${text.slice(0, 20)} ${text.slice(21)}`]) {
    writeFileSync(file, wrong)
    const error = t.throws(() => readStoreKey(dir), {
      errorCode: { code: 'startup.store_key', exit: 78 },
      message: /store\.key is not a key of sluice: copy the file/
    })
    t.notMatch(String(error), text.slice(2, 12))
  }
  const other = t.testdir({ data: {} })
  mkdirSync(storeKeyFile(other), { mode: 0o700 })
  t.throws(() => readStoreKey(other), { errorCode: { code: 'startup.store_key' }, message: /cannot be read/ })
})
