// What agents pin, and what comes next: asked beside a running server, too.
import { X509Certificate } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { timestamp } from '../../kernel/base/clock.ts'
import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import { openStore } from '../../kernel/store/open.ts'
import { givenFiles, type Leaf, ownFile } from './certificate.ts'
import { type Certificate, readLeaf } from './leaf.ts'
import { enrolled, storeValue, unaware } from './store-values.ts'

/** The leaf that a server with this configuration would serve; null where none was made yet. */
export function presentLeaf(dir: string, leaf: Leaf): Certificate | null {
  const own = ownFile(dir)
  const files = givenFiles(leaf) ?? (existsSync(own) ? { certPath: own, keyPath: own } : null)
  return files && readLeaf(files)
}

export async function showCertificate(dir: string, leaf: Leaf) {
  const present = presentLeaf(dir, leaf)
  if (!present)
    throw new Fault(wrongUsage, `there is no certificate in ${dir} yet; the first start makes one`)
  const { subject, subjectAltName, validFromDate, validToDate } = new X509Certificate(present.cert)
  return {
    fingerprint: present.fingerprint,
    source: givenFiles(leaf) ? 'given' : 'self-made',
    subject,
    names: (subjectAltName ?? '').split(', ').filter(name => name !== ''),
    not_before: timestamp(validFromDate.getTime()),
    not_after: timestamp(validToDate.getTime()),
    ...(await pinsIn(dir))
  }
}

async function pinsIn(dir: string) {
  const file = join(dir, 'sluice.db')
  if (!existsSync(file)) return { pinned: null, enrolled_clients: 0, next: null, waiting_for: [] }
  const store = await openStore(file, [])
  try {
    return await store.read(async em => {
      const next = await storeValue('next_leaf', em)
      return {
        pinned: await storeValue('leaf', em),
        enrolled_clients: await enrolled(em),
        next,
        waiting_for: next === null ? [] : await unaware(next, em)
      }
    })
  } finally {
    await store.close()
  }
}
