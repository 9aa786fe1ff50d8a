// Seals texts with `store.key` of the data directory. The store records which key it needs, from the first sealed text on.
import { existsSync, renameSync } from 'node:fs'
import type { EntityManager } from '@mikro-orm/sql'
import { Fault } from '../../kernel/base/errors.ts'
import { StoreValue } from '../../kernel/identity/entities.ts'
import { syncDir } from '../../kernel/platform/sync-file.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import {
  makeStoreKey,
  readStoreKey,
  restoredFile,
  type StoreKey,
  storeKeyFile,
  storeKeyUnusable
} from '../certificate/exports.ts'
import type { Secrets } from './exports.ts'

const keyIdName = 'secrets_key' // in kernel_store_value
const form = /^sealed:1:([0-9a-f]{16}):([\w+/=]+)$/

/** The service, with what the plugin's own start needs. */
export interface SecretsOfStore extends Secrets {
  /** Throws `startup.store_key` if the store has sealed texts and the data directory lacks their key. */
  check(): Promise<void>
  /** Lets the next sealed text use the key that the data directory then has. Earlier ones open only with theirs. */
  reset(): Promise<void>
}

export function openSecrets({ store, dataDir }: Pick<Kernel, 'store' | 'dataDir'>): SecretsOfStore {
  let key: StoreKey | null = null

  const current = (): StoreKey | null => {
    key ??= readStoreKey(dataDir)
    return key
  }

  async function keyFor(em: EntityManager): Promise<StoreKey> {
    const row = await em.findOne(StoreValue, { name: keyIdName })
    if (row) return requireKey(current(), row.value, dataDir)
    key = current() ?? makeStoreKey(dataDir)
    await em.insert(StoreValue, { name: keyIdName, value: key.id })
    return key
  }

  return {
    async seal(text, context, em) {
      const { id, seal } = await keyFor(em)
      return `sealed:1:${id}:${seal(text, sealContext(context))}`
    },

    open(sealed, context) {
      const [, id, text] = form.exec(sealed) ?? []
      if (id === undefined || text === undefined) throw new Error(`the text for ${context} is not sealed`)
      const opened = requireKey(current(), id, dataDir).open(text, sealContext(context))
      if (opened === null)
        throw new Error(`the sealed text for ${context} was changed, or was sealed for another context`)
      return opened
    },

    async check() {
      const row = await store.read(em => em.findOne(StoreValue, { name: keyIdName }))
      if (!row) return
      adoptRestored(dataDir, row.value)
      requireKey(current(), row.value, dataDir)
    },

    async reset() {
      await store.change(em => em.nativeDelete(StoreValue, { name: keyIdName }))
    }
  }
}

/** Keeps sealed texts of plugins apart from the sealed certificates. */
const sealContext = (context: string): string => `sluice secret\n${context}`

/** Puts the key of a restored backup in place, if the restore was ended before it could. */
function adoptRestored(dir: string, id: string): void {
  const file = storeKeyFile(dir)
  if (!existsSync(restoredFile(file)) || readStoreKey(dir, restoredFile(file))?.id !== id) return
  renameSync(restoredFile(file), file)
  syncDir(dir)
}

function requireKey(key: StoreKey | null, id: string, dir: string): StoreKey {
  if (key?.id === id) return key
  const file = storeKeyFile(dir)
  const why = key
    ? `${file} is the key ${key.id}, and secrets in this store need ${id}. Replace it with`
    : `${file} is missing: it opens the secrets in this store. Copy it from`
  throw new Fault(
    storeKeyUnusable,
    `${why} the file of a backup, or of another server of this store, with mode 0600. If the key is lost, run sluice secrets reset, and set the secrets again`
  )
}
