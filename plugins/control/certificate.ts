// The leaf that agents pin: made once and kept, or given by the operator. Never replaced by itself.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Fault, tlsInvalid } from '../../kernel/base/errors.ts'
import { type Certificate, keepLeaf, type LeafFiles, readLeaf } from './leaf.ts'

/** What an operator says of the leaf. */
export interface Leaf {
  readonly certPath?: string
  readonly keyPath?: string
  /** Hosts that a self-made leaf covers, beside this machine's own. */
  readonly names?: readonly string[]
}

export const ownFile = (dir: string): string => join(dir, 'control.pem')
/** One that waits for `cert activate`. */
export const nextFile = (dir: string): string => join(dir, 'control.next.pem')

/** The operator's leaf; null when there is none. */
export function givenFiles({ certPath, keyPath }: Leaf): LeafFiles | null {
  if (certPath !== undefined && keyPath !== undefined) return { certPath, keyPath }
  if (certPath === undefined && keyPath === undefined) return null
  throw new Fault(tlsInvalid, 'tls_cert_path and tls_key_path belong together: give both, or none')
}

export async function openCertificate(dir: string, leaf: Leaf = {}): Promise<Certificate> {
  const given = givenFiles(leaf)
  if (given) return readLeaf(given)
  const own = ownFile(dir)
  if (!existsSync(own)) {
    const { makeLeaf } = await import('./self-signed.ts')
    keepLeaf(own, await makeLeaf(leaf.names ?? []))
  }
  return readLeaf({ certPath: own, keyPath: own })
}
