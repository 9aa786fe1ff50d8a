// The certificate of servers that share a database: sealed in the database, opened with the key file of each server.
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { plugins as builtin } from '../../config/plugins.ts'
import { inDependencyOrder } from '../../kernel/dependency-order.ts'
import { Client } from '../../kernel/identity/entities.ts'
import { hashOf, newSecret } from '../../kernel/identity/secret.ts'
import { newId } from '../../kernel/platform/id.ts'
import { kernelStore } from '../../kernel/store/kernel-store.ts'
import { type Database, openStore } from '../../kernel/store/open.ts'
import type { PostgresPlace } from '../../kernel/store/sql/database.ts'
import { type LogLine, recordLog } from '../../kit/test-server.ts'
import { openCertificate } from '../../plugins/certificate/certificate.ts'
import {
  namedCertificates,
  requirePinned,
  setStoreValue
} from '../../plugins/certificate/certificate-pins.ts'
import { openCertificateStore, servedCertificate } from '../../plugins/certificate/certificate-store.ts'
import { Rotation } from '../../plugins/certificate/rotation.ts'
import { makeStoreKey } from '../../plugins/certificate/store-key.ts'
import { privateDir } from '../support/private-dir.ts'
import { connectTo, emptyDatabase } from './empty-database.ts'
import { keyIn } from './second-server.ts'

const plugins = await Promise.all(Object.values(builtin).map(async load => (await load()).default))
const stores = [kernelStore, ...inDependencyOrder(plugins)]
const keyUnusable = { errorCode: { code: 'startup.store_key', exit: 78 } }

interface Fixture {
  readonly place: PostgresPlace
  readonly store: Database
  readonly log: LogLine[]
  /** Makes a data directory; returns its path. */
  dirOf(name: string): string
  keepIn(dir: string): ReturnType<typeof openCertificateStore>
  /** Handles the certificate like a start in this data directory. Returns the fingerprint. */
  startIn(dir: string, given?: string, by?: Database): Promise<string>
  enroll(name: string): Promise<void>
}

async function fixture(t: Test): Promise<Fixture> {
  const place = await emptyDatabase(t)
  const store = await openStore(place, stores)
  t.teardown(store.close)
  const base = privateDir(t)
  const log: LogLine[] = []
  const keepIn = (dir: string, by = store) => openCertificateStore({ dir, store: by, log: recordLog(log) })
  return {
    place,
    store,
    log,
    keepIn,
    dirOf(name) {
      mkdirSync(join(base, name), { mode: 0o700 })
      return join(base, name)
    },
    async startIn(dir, given, by = store) {
      const keep = await keepIn(dir, by)
      await keep.settle(await by.read(namedCertificates))
      const settings = given === undefined ? {} : { certPath: given, keyPath: given }
      const { fingerprint } = await servedCertificate(keep, settings)
      await requirePinned(by, fingerprint)
      return fingerprint
    },
    async enroll(name) {
      const client = { id: newId(), name, tokenHash: hashOf(newSecret()), revision: 0, enrolledAt: 0 }
      await store.change(em => em.insert(Client, client))
    }
  }
}

t.test(
  'a second server gets the certificate with the key file of the first, and is refused without it',
  async t => {
    const { dirOf, startIn, log, store } = await fixture(t)
    const one = dirOf('one')
    const two = dirOf('two')

    const fingerprint = await startIn(one)

    t.equal(statSync(keyIn(one)).mode & 0o777, 0o600)
    t.match(log, [{ event: 'certificate.sealed', fields: { file: keyIn(one) } }])
    t.notOk(existsSync(join(one, 'control.pem')))
    const missing = `${keyIn(two)} is missing: it opens the certificate of this store. Copy it from store.key in the data`
    await t.rejects(startIn(two), { ...keyUnusable, message: missing })
    t.notOk(existsSync(keyIn(two)), 'no key file was created')

    makeStoreKey(two)
    await t.rejects(startIn(two), {
      ...keyUnusable,
      message: /two\/store\.key is the key \w{16} of another store/
    })

    copyFileSync(keyIn(one), keyIn(two))
    t.equal(await startIn(two), fingerprint)
    t.equal(await startIn(one), fingerprint)
    t.equal(log.length, 1, 'it is logged once')
    const [row] = await store.read(em => em.execute<object[]>('select * from certificate_sealed'))
    t.notMatch(JSON.stringify(row), /PRIVATE KEY/)
    t.notMatch(JSON.stringify(row), readFileSync(keyIn(one), 'utf8').trim())
  }
)

t.test(
  'when servers start at the same time, one makes the certificate and the others are refused',
  async t => {
    const { dirOf, startIn, place } = await fixture(t)
    const dirs = ['one', 'two', 'three'].map(dirOf)
    const own = await Promise.all(dirs.map(() => openStore(place, []))) // separate connections without a lock
    for (const { close } of own) t.teardown(close)

    const ends = await Promise.allSettled(dirs.map((dir, at) => startIn(dir, undefined, own[at])))

    const started = ends.flatMap(end => (end.status === 'fulfilled' ? [end.value] : []))
    t.equal(started.length, 1)
    for (const end of ends) if (end.status === 'rejected') t.match(end.reason, keyUnusable)
    const first = dirs[ends.findIndex(({ status }) => status === 'fulfilled')] ?? ''
    for (const dir of dirs) if (dir !== first) copyFileSync(keyIn(first), keyIn(dir))
    t.same(new Set(await Promise.all(dirs.map(dir => startIn(dir)))), new Set(started))
  }
)

t.test('a certificate that was edited in the database is refused', async t => {
  const { dirOf, startIn, place } = await fixture(t)
  const dir = dirOf('one')
  await startIn(dir)
  const client = await connectTo(t, place)
  const other = await openCertificate(dirOf('other'))
  const refused = {
    errorCode: { code: 'startup.tls_invalid', exit: 78 },
    message: /was changed: .* is its key and does not open it/
  }

  await client.query('create table kept as select * from certificate_sealed')
  await client.query('update certificate_sealed set certificate = $1', [other.cert])
  await t.rejects(startIn(dir), refused, 'another certificate')
  await client.query('update certificate_sealed set certificate = (select certificate from kept) || $1', [
    other.cert
  ])
  await t.rejects(startIn(dir), refused, 'one more certificate in the chain')
  await client.query('update certificate_sealed set certificate = (select certificate from kept)')
  await client.query("update certificate_sealed set sealed_key = overlay(sealed_key placing 'AAAA' from 41)")
  await t.rejects(startIn(dir), refused, 'another key')
  await client.query("update certificate_sealed set sealed_key = ''")
  await t.rejects(startIn(dir), refused, 'none')
  await client.query('update certificate_sealed set sealed_key = (select sealed_key from kept)')
  await startIn(dir)
})

t.test(
  'certificate files that an older build left in the data directory are imported, a staged one included',
  async t => {
    const { dirOf, startIn, store, log, enroll, keepIn } = await fixture(t)
    const old = dirOf('old')
    const empty = dirOf('empty')
    const staged = dirOf('staged')
    const { fingerprint } = await openCertificate(old)
    const { fingerprint: next } = await openCertificate(staged)
    copyFileSync(join(staged, 'control.pem'), join(old, 'control.next.pem'))
    await store.change(async em => {
      await setStoreValue('leaf', fingerprint, em)
      await setStoreValue('next_leaf', next, em)
    })
    await enroll('paris')
    const absent =
      /have the certificate \w{64}, but its key is not in the store: .* first start the server that has it in its data/
    await t.rejects(startIn(empty), { errorCode: { code: 'startup.tls_invalid' }, message: absent })
    t.notOk(existsSync(keyIn(empty)))

    t.equal(await startIn(old), fingerprint)

    t.match(log, [{ event: 'certificate.sealed' }])
    for (const name of ['control.pem', 'control.next.pem']) t.notOk(existsSync(join(old, name)))
    copyFileSync(keyIn(old), keyIn(empty))
    t.equal(await startIn(empty), fingerprint)
    const keep = await keepIn(empty)
    t.equal((await keep.next())?.fingerprint, next)
  }
)

t.test('the certificate files beside a SQLite store stay for a later return to it', async t => {
  const { dirOf, startIn, store } = await fixture(t)
  const dir = dirOf('moved')
  writeFileSync(join(dir, 'sluice.db'), '')
  const { fingerprint } = await openCertificate(dir)
  await store.change(em => setStoreValue('leaf', fingerprint, em))

  t.equal(await startIn(dir), fingerprint)
  rmSync(join(dir, 'control.pem'))
  t.equal(await startIn(dir), fingerprint, 'the store has it, too')
})

t.test('one server stages a certificate and another activates it', async t => {
  const { dirOf, startIn, store, keepIn, enroll } = await fixture(t)
  const one = dirOf('one')
  const two = dirOf('two')
  const before = await startIn(one)
  copyFileSync(keyIn(one), keyIn(two))
  await enroll('paris')
  const rotationIn = async (dir: string) =>
    new Rotation({ certificates: await keepIn(dir), settings: {}, store })

  const { fingerprint } = await (await rotationIn(one)).reissue({ names: [] }, 'rotate')
  t.equal(await startIn(two), before)
  await t.rejects(
    (await rotationIn(two)).activate('careful'),
    /clients do not trust the next certificate yet: paris/
  )
  t.match(await (await rotationIn(two)).activate('force'), { fingerprint })

  t.equal(await startIn(one), fingerprint)
  t.equal(await startIn(two), fingerprint)
  t.equal(await (await keepIn(one)).next(), null)
})

t.test('the next start finishes an interrupted switch and deletes an unused draft', async t => {
  const { dirOf, startIn, store, keepIn } = await fixture(t)
  const dir = dirOf('one')
  await startIn(dir)
  const keep = await keepIn(dir)
  const next = await keep.save('next', await openCertificate(dirOf('next')))
  await store.change(em => setStoreValue('leaf', next.fingerprint, em))

  t.equal(await startIn(dir), next.fingerprint)

  await keep.save('next', await openCertificate(dirOf('draft')))
  await startIn(dir)
  t.equal(await keep.next(), null)
})

t.test('a configured certificate is the same on all servers, even before the first client', async t => {
  const { dirOf, startIn, store, keepIn } = await fixture(t)
  const one = dirOf('one')
  const two = dirOf('two')
  const pem = (dir: string) => join(dir, 'control.pem')
  const given = await openCertificate(dirOf('given'))
  await openCertificate(one)
  copyFileSync(pem(one), join(two, 'given.pem'))
  const fingerprint = await startIn(one, pem(one))
  t.notOk(existsSync(keyIn(one)), 'no key file was created')

  t.equal(await startIn(two, join(two, 'given.pem')), fingerprint)
  const own = await openCertificate(dirOf('another'))
  const refused = {
    errorCode: { code: 'startup.tls_invalid' },
    message: /and the servers of this store have/
  }
  await t.rejects(startIn(two, join(two, '..', 'another', 'control.pem')), {
    ...refused,
    message: `the certificate is ${own.fingerprint}, and the servers of this store have ${fingerprint}`
  })
  await t.rejects(startIn(two), {
    errorCode: { code: 'startup.tls_invalid' },
    message: /configure it \(tls_cert_path/
  })

  const file = join(two, '..', 'given', 'control.pem')
  const settings = { certPath: pem(one), keyPath: pem(one) }
  const rotation = new Rotation({ certificates: await keepIn(one), settings, store })
  await rotation.reissue({ from: { certPath: file } }, 'rotate')
  t.match(await rotation.activate('careful'), { fingerprint: given.fingerprint, isShadowed: true })
  await t.rejects(startIn(one, pem(one)), refused)
  t.equal(await startIn(one, file), given.fingerprint)
  t.equal(await startIn(two, file), given.fingerprint, 'a configured certificate needs no key file')
  t.equal(await startIn(one), given.fingerprint, 'without a configuration it is the sealed one')
})
