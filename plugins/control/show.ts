// Shows the certificate in use, and the fingerprints that agents pin now and next. Works while the server runs.
import { X509Certificate } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { timestamp } from '../../kernel/base/clock.ts'
import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import { openStore } from '../../kernel/store/open.ts'
import type { Place } from '../../kernel/store/sql/database.ts'
import { type CertificateSettings, configuredFiles, currentCertificate } from './certificate.ts'
import { countEnrolled, storeValue, unawareClients } from './pinned-certificate.ts'

export async function showCertificate(
  dir: string,
  settings: CertificateSettings,
  place: Place = join(dir, 'sluice.db')
) {
  const present = currentCertificate(dir, settings)
  if (!present)
    throw new Fault(wrongUsage, `there is no certificate in ${dir} yet; the first start makes one`)
  const { subject, subjectAltName, validFromDate, validToDate } = new X509Certificate(present.cert)
  return {
    fingerprint: present.fingerprint,
    source: configuredFiles(settings) ? 'given' : 'self-made',
    subject,
    names: (subjectAltName ?? '').split(', ').filter(name => name !== ''),
    not_before: timestamp(validFromDate.getTime()),
    not_after: timestamp(validToDate.getTime()),
    ...(await pinsIn(place))
  }
}

async function pinsIn(place: Place) {
  if (typeof place === 'string' && !existsSync(place))
    return { pinned: null, enrolled_clients: 0, next: null, waiting_for: [] }
  const store = await openStore(place, [])
  try {
    return await store.read(async em => {
      const next = await storeValue('next_leaf', em)
      return {
        pinned: await storeValue('leaf', em),
        enrolled_clients: await countEnrolled(em),
        next,
        waiting_for: next === null ? [] : await unawareClients(next, em)
      }
    })
  } finally {
    await store.close()
  }
}
