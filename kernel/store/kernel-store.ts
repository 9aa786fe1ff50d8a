import { Client, Credential, ManagedObjectRow, SpentToken, StoreValue, User } from '../identity/entities.ts'
import { Kernel0001 } from '../identity/migrations/0001-identity.ts'
import type { PluginStore } from './sql/migrations.ts'

/** The kernel's own tables; their migrations run before those of plugins. */
export const kernelStore: PluginStore = {
  name: 'kernel',
  store: {
    entities: [User, Credential, Client, SpentToken, ManagedObjectRow, StoreValue],
    migrations: [{ name: '0001-identity', class: Kernel0001 }]
  }
}
