// Seals private keys in a store that servers share, and secrets of plugins in every store. Each server has the key in a file
// of its data directory.
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { requirePrivateFile } from '../../kernel/base/directory.ts'
import { defineCode, Fault, reasonOf } from '../../kernel/base/errors.ts'
import { syncDir } from '../../kernel/platform/sync-file.ts'

export const storeKeyUnusable = defineCode('startup.store_key', 500, 78)

const cipher = 'aes-256-gcm'
const keyBytes = 32
const nonceBytes = 12
const tagBytes = 16

export interface StoreKey {
  readonly id: string // a hash of the key
  /** Encrypts the secret. It opens only with the same `context`, which is authenticated and not encrypted. */
  seal(secret: string, context: string): string
  /** Returns null if this key has not sealed the text with this `context`. */
  open(sealed: string, context: string): string | null
}

export const storeKeyFile = (dir: string): string => join(dir, 'store.key')

/** Returns null if the data directory has no key. Throws Fault for a file that is not a key or that others may read. */
export function readStoreKey(dir: string, file = storeKeyFile(dir)): StoreKey | null {
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

/** Makes a key for a data directory without one. It is on disk before anything is sealed with it. */
export function makeStoreKey(dir: string): StoreKey {
  const file = storeKeyFile(dir)
  const bytes = randomBytes(keyBytes)
  rmSync(`${file}.new`, { force: true })
  writeFileSync(`${file}.new`, `${bytes.toString('base64url')}\n`, { mode: 0o600, flag: 'wx', flush: true })
  renameSync(`${file}.new`, file)
  syncDir(dirname(file))
  return keyOf(bytes)
}

const keyOf = (key: Buffer): StoreKey => ({
  id: createHash('sha256').update('sluice store.key ').update(key).digest('hex').slice(0, 16),
  seal(secret, context) {
    const nonce = randomBytes(nonceBytes)
    const sealing = createCipheriv(cipher, key, nonce).setAAD(Buffer.from(context))
    const sealed = [sealing.update(secret, 'utf8'), sealing.final()]
    return Buffer.concat([nonce, ...sealed, sealing.getAuthTag()]).toString('base64')
  },
  open(sealed, context) {
    const bytes = Buffer.from(sealed, 'base64')
    if (bytes.length < nonceBytes + tagBytes) return null
    const opening = createDecipheriv(cipher, key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
    opening.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(-tagBytes))
    try {
      const secret = [opening.update(bytes.subarray(nonceBytes, -tagBytes)), opening.final()]
      return Buffer.concat(secret).toString('utf8')
    } catch {
      return null // the tag does not match
    }
  }
})
