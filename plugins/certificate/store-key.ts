// The key with which servers that share a store seal the private keys in it. It is in a file of each data directory.
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { requirePrivateFile } from '../../kernel/base/directory.ts'
import { Fault, reasonOf } from '../../kernel/base/errors.ts'
import { syncDir } from '../../platform/sync-file.ts'
import { storeKeyUnusable } from './codes.ts'

const cipher = 'aes-256-gcm'
const [keyBytes, nonceBytes, tagBytes] = [32, 12, 16]

export interface StoreKey {
  readonly id: string // tells keys apart, and nothing of what they are
  /** `about` is in clear beside what is sealed: it opens with the same one only. */
  seal(secret: string, about: string): string
  /** Returns null for what this key has not sealed, or not with this `about`. */
  open(sealed: string, about: string): string | null
}

export const storeKeyFile = (dir: string): string => join(dir, 'store.key')

/** Returns the key of a data directory; null where it has none. */
export function readStoreKey(dir: string): StoreKey | null {
  const file = storeKeyFile(dir)
  if (!existsSync(file)) return null
  const text = contentOf(file)
  if (/^[\w-]{43}$/.test(text)) return keyOf(Buffer.from(text, 'base64url'))
  throw new Fault(
    storeKeyUnusable,
    `${file} is not a key of sluice: copy the file as it is, one line of 43 characters`
  )
}

function contentOf(file: string): string {
  try {
    requirePrivateFile(file, 'the key of the store')
    return readFileSync(file, 'utf8').trim()
  } catch (cause) {
    if (cause instanceof Fault) throw cause
    throw new Fault(storeKeyUnusable, `${file} cannot be read: ${reasonOf(cause)}`, { cause })
  }
}

/** Makes a key where there is none; it is on disk before anything is sealed with it. */
export function makeStoreKey(dir: string): StoreKey {
  const file = storeKeyFile(dir)
  const bytes = randomBytes(keyBytes)
  writeFileSync(`${file}.new`, `${bytes.toString('base64url')}\n`, { mode: 0o600, flush: true })
  renameSync(`${file}.new`, file)
  syncDir(dirname(file))
  return keyOf(bytes)
}

const keyOf = (key: Buffer): StoreKey => ({
  id: createHash('sha256').update('sluice store.key ').update(key).digest('hex').slice(0, 16),
  seal(secret, about) {
    const nonce = randomBytes(nonceBytes)
    const sealing = createCipheriv(cipher, key, nonce).setAAD(Buffer.from(about))
    const sealed = [sealing.update(secret, 'utf8'), sealing.final()]
    return Buffer.concat([nonce, ...sealed, sealing.getAuthTag()]).toString('base64')
  },
  open(sealed, about) {
    const bytes = Buffer.from(sealed, 'base64')
    if (bytes.length < nonceBytes + tagBytes) return null
    const opening = createDecipheriv(cipher, key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
    opening.setAAD(Buffer.from(about)).setAuthTag(bytes.subarray(-tagBytes))
    try {
      const secret = [opening.update(bytes.subarray(nonceBytes, -tagBytes)), opening.final()]
      return Buffer.concat(secret).toString('utf8')
    } catch {
      return null // the only reason that it has
    }
  }
})
