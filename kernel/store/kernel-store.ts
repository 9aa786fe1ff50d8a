import { Client, Credential, ManagedObjectRow, SpentToken, StoreValue, User } from '../identity/entities.ts'
import { Kernel0001 } from '../identity/migrations/0001-identity.ts'
import type { Store } from '../plugin.ts'

/** The kernel's own tables, in the list of stores before all plugins. */
export const kernelStore: { readonly name: string; readonly store: Store } = {
  name: 'kernel',
  store: {
    entities: [User, Credential, Client, SpentToken, ManagedObjectRow, StoreValue],
    migrations: [{ name: '0001-identity', class: Kernel0001 }]
  }
}
