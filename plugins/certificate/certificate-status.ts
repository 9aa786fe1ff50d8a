// Shows the certificate in use, and the fingerprints that agents pin now and next. Works while the server runs.
import { X509Certificate } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { EntityManager } from '@mikro-orm/sql'
import { timestamp } from '../../kernel/base/clock.ts'
import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import { openStore } from '../../kernel/store/open.ts'
import { mayBeShared, type Place } from '../../kernel/store/sql/database.ts'
import {
  type CertificateSettings,
  configuredFiles,
  currentCertificate,
  fingerprintOf
} from './certificate.ts'
import { countEnrolled, storeValue, unawareClients } from './pinned-certificate.ts'
import { sealedIn } from './sealed-certificates.ts'

export async function showCertificate(
  dir: string,
  settings: CertificateSettings,
  place: Place = join(dir, 'sluice.db')
) {
  const { own, ...pins } = await readIn(place)
  const present = own !== null && !configuredFiles(settings) ? own : currentCertificate(dir, settings)?.cert
  if (present === undefined)
    throw new Fault(wrongUsage, `there is no certificate in ${dir} yet; the first start makes one`)
  const certificate = new X509Certificate(present)
  const { subject, subjectAltName, validFromDate, validToDate } = certificate
  return {
    fingerprint: fingerprintOf(certificate),
    source: configuredFiles(settings) ? 'given' : 'self-made',
    subject,
    names: (subjectAltName ?? '').split(', ').filter(name => name !== ''),
    not_before: timestamp(validFromDate.getTime()),
    not_after: timestamp(validToDate.getTime()),
    ...pins
  }
}

async function readIn(place: Place) {
  if (typeof place === 'string' && !existsSync(place))
    return { own: null, pinned: null, enrolled_clients: 0, next: null, waiting_for: [] }
  const store = await openStore(place, [])
  try {
    return await store.read(async em => {
      const next = await storeValue('next_leaf', em)
      return {
        own: mayBeShared(em) ? await ownIn(em) : null,
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

/** Returns the certificate in a store, which needs no key; null also for a store that an earlier build has made. */
async function ownIn(em: EntityManager): Promise<string | null> {
  const schema = em.getPlatform().getSchemaHelper()
  const isThere = await schema?.tableExists(em.getConnection(), 'certificate_sealed', undefined)
  return isThere ? ((await sealedIn(em)).get('own')?.certificate ?? null) : null
}
