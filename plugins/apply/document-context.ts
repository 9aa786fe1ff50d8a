// The user, the clients and the kinds, read once per run.
import { Fault, invalidSchema } from '../../kernel/base/errors.ts'
import type { CommandCall } from '../../kernel/cli/command.ts'
import type { Role } from '../../kernel/http/principal.ts'
import { isReservedName } from '../clients/exports.ts'
import { seesAll } from '../http/command-exports.ts'
import {
  type DeliveryOptions,
  type DocumentContext,
  type DocumentKind,
  documentKindSlot
} from '../rules/command-exports.ts'
import type { KindRow } from './schema.ts'

type Call = Pick<CommandCall<object>, 'api' | 'filled'>

interface ClientRow {
  readonly client_id: string
  readonly client_name: string
  readonly connected: boolean
  readonly last_seen_at: string | null
}

const order = ['owner', 'limit', 'object'] as const

/** Returns the kinds of all plugins: first owners, then their limits, then the objects that need both. */
export function listKinds({ filled }: Pick<Call, 'filled'>): DocumentKind[] {
  const kinds = filled(documentKindSlot).map(({ value }) => value)
  return order.flatMap(role => kinds.filter(kind => kind.role === role))
}

/** `delivery`: how changes reach clients, for entries without their own options. */
export async function openDocumentContext(
  { api, filled }: Call,
  delivery: DeliveryOptions = {}
): Promise<DocumentContext> {
  const [self, clients, kinds] = await Promise.all([
    api.get<{ user_id: string; role: Role }>('/v1/users/me'),
    api.list<ClientRow>('/v1/clients'),
    api.list<KindRow>('/v1/apply-kinds')
  ])
  const kindOf = (kind: string) => kinds.find(({ name }) => name === kind)
  return {
    api,
    filled,
    delivery,
    userId: self.user_id,
    seesAll: seesAll(self),
    clientId: idOrName => findClientId(clients, idOrName),
    offlineSince(id) {
      const client = clients.find(({ client_id }) => client_id === id)
      return client && !client.connected ? Date.parse(client.last_seen_at ?? '') || 0 : null
    },
    clientName: id => findClientName(clients, id),
    defaults: kind => kindOf(kind)?.defaults ?? {},
    distinguishing: kind => kindOf(kind)?.distinguishing ?? [],
    readOnly: kind => kindOf(kind)?.read_only ?? null
  }
}

function findClientId(clients: readonly ClientRow[], idOrName: unknown): string {
  const found = clients.filter(
    ({ client_id, client_name }) => client_id === idOrName || client_name === String(idOrName)
  )
  const [only, other] = found
  if (only && !other) return only.client_id
  throw new Fault(
    invalidSchema,
    only ? `${found.length} clients are named ${idOrName}: give an id` : `there is no client ${idOrName}`
  )
}

function findClientName(clients: readonly ClientRow[], id: unknown): string {
  const name = clients.find(({ client_id }) => client_id === id)?.client_name
  const isUnique = clients.filter(({ client_name }) => client_name === name).length === 1
  return name !== undefined && isUnique && !isReservedName(name) ? name : String(id)
}
