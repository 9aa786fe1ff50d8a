// The rotation of the certificate: refusals, staging, and the clients that know the next one.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Client } from '../../../kernel/identity/entities.ts'
import { hashOf, newSecret } from '../../../kernel/identity/secret.ts'
import { newId } from '../../../kernel/platform/id.ts'
import { kernelStore } from '../../../kernel/store/kernel-store.ts'
import { openStore } from '../../../kernel/store/open.ts'
import { recordLog } from '../../../kit/test-server.ts'
import { type CertificateSettings, openCertificate } from '../certificate.ts'
import { requirePinned, storeValue } from '../certificate-pins.ts'
import { showCertificate } from '../certificate-status.ts'
import { openCertificateStore } from '../certificate-store.ts'
import { NextPinRow } from '../entities.ts'
import plugin from '../plugin.ts'
import { Rotation } from '../rotation.ts'

async function rotationFixture(t: Test, settings: CertificateSettings = {}) {
  const dir = t.testdir({ data: {}, other: {} })
  const data = join(dir, 'data')
  const store = await openStore(join(data, 'sluice.db'), [kernelStore, plugin])
  t.teardown(store.close)
  const certificates = await openCertificateStore({ dir: data, store, log: recordLog([]) })
  const present = await openCertificate(data, settings)
  await requirePinned(store, present.fingerprint)
  await openCertificate(join(dir, 'other'))
  const enroll = async (name: string) => {
    const [clientId, tokenHash] = [newId(), hashOf(newSecret())]
    const made = { id: clientId, name, address: null, tokenHash, revision: 0, enrolledAt: 0 }
    await store.change(em => em.insert(Client, made))
    return { clientId, tokenHash }
  }
  /** Checks the certificate as a start with this configuration does. */
  const start = async (settings: CertificateSettings = {}) =>
    requirePinned(store, (await openCertificate(data, settings)).fingerprint)
  const other = join(dir, 'other', 'control.pem')
  const given: CertificateSettings = { certPath: other, keyPath: other }
  return {
    data,
    store,
    certificates,
    present,
    enroll,
    start,
    given,
    other,
    rotation: new Rotation({ certificates, settings, store })
  }
}

t.test('without clients a new certificate is in use at once', async t => {
  const { data, rotation, present, start } = await rotationFixture(t)

  const { fingerprint, state } = await rotation.reissue({ names: ['gate.example'] }, 'replace')

  t.equal(state, 'current')
  t.not(fingerprint, present.fingerprint)
  await start()
  t.match(await showCertificate(data, {}), { fingerprint, pinned: fingerprint, next: null })
})

t.test(
  'with clients a new certificate is staged; a confirmation counts only with the current token',
  async t => {
    const { data, store, rotation, enroll } = await rotationFixture(t)
    const { clientId, tokenHash } = await enroll('paris')
    await t.rejects(rotation.reissue({ names: [] }, 'replace'), /1 enrolled clients pin .*--rotate/)
    const { fingerprint } = await rotation.reissue({ names: [] }, 'rotate')

    await store.change(em => em.insert(NextPinRow, { clientId, fingerprint, tokenHash }))
    t.match(await showCertificate(data, {}), { next: fingerprint, waiting_for: [] })
    await store.change(em => em.nativeUpdate(Client, { id: clientId }, { tokenHash: hashOf('another') }))
    t.match(await showCertificate(data, {}), { waiting_for: [{ name: 'paris' }] })

    await t.rejects(rotation.activate('careful'), /clients do not trust the next certificate yet: paris/)
    t.match(await rotation.activate('force'), { fingerprint, lost: [{ name: 'paris' }] })
  }
)

t.test('an activation that was interrupted between file and store is finished by the next', async t => {
  const { data, store, rotation, enroll, start } = await rotationFixture(t)
  await enroll('paris')
  const { fingerprint } = await rotation.reissue({ names: [] }, 'rotate')
  writeFileSync(join(data, 'control.pem'), readFileSync(join(data, 'control.next.pem')), { mode: 0o600 })

  await t.rejects(start(), /it is staged: run sluice cert activate/)
  t.match(await rotation.activate('force'), { fingerprint })

  await start()
  t.equal(await store.read(em => storeValue('next_leaf', em)), null)
})

t.test(
  "the operator's own certificate is staged, activated, and accepted with or without its configuration",
  async t => {
    const { rotation, enroll, other, start, given, data } = await rotationFixture(t)
    await enroll('paris')
    await t.rejects(start(given), { errorCode: { code: 'startup.tls_invalid' }, message: /stage this one/ })

    const { fingerprint } = await rotation.reissue({ from: { certPath: other, keyPath: other } }, 'rotate')
    t.match(await rotation.activate('force'), { fingerprint, isShadowed: false })

    await start(given)
    await start()
    t.notOk(existsSync(join(data, 'control.next.pem')))
  }
)

t.test('a configured certificate that shadows the new one is reported', async t => {
  const { data, given, store, certificates, enroll } = await rotationFixture(t)
  const { fingerprint: old } = await openCertificate(data, given)
  const rotation = new Rotation({ certificates, settings: given, store })
  await t.rejects(rotation.reissue({ names: [] }, 'replace'), /tls_cert_path gives the certificate/)
  await enroll('paris')
  await rotation.reissue({ names: [] }, 'rotate')

  const { isShadowed, fingerprint } = await rotation.activate('force')

  t.ok(isShadowed)
  t.not(fingerprint, old)
})

t.test(
  'an invalid name, the current certificate and an activation without a staged one are refused',
  async t => {
    const { data, rotation } = await rotationFixture(t)
    const own = join(data, 'control.pem')

    await t.rejects(rotation.reissue({ names: ['not a name'] }, 'rotate'), /nor a DNS name/)
    await t.rejects(rotation.reissue({ names: ['a.*.example'] }, 'rotate'), /nor a DNS name/)
    await t.rejects(
      rotation.reissue({ from: { certPath: own, keyPath: own } }, 'rotate'),
      /current certificate/
    )
    await t.rejects(rotation.activate('careful'), /no certificate is staged/)
    await t.rejects(rotation.activate('force'), /no certificate is staged/)
    await rotation.reissue({ names: ['*.edge.example', '10.0.0.1'] }, 'rotate')
  }
)
