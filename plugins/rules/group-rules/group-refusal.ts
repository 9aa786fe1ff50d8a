import type { EntityManager } from '@mikro-orm/sql'
import { Fault } from '../../../kernel/base/errors.ts'
import { Client } from '../../../kernel/identity/entities.ts'
import type { Rule } from '../entities.ts'
import { clientNotGranted } from '../slots.ts'

const shownInMessage = 3

/** Returns a fault with the code of the first one, and with those of all clients in `details.edges`, by client name. */
export async function groupRefusal(
  rules: readonly Rule[],
  faults: ReadonlyMap<string, Fault>,
  em: EntityManager
): Promise<Fault> {
  const clientIds = new Map(rules.map(({ id, clientId }) => [id, clientId]))
  const refused = [...faults].map(([id, fault]) => ({ fault, clientId: clientIds.get(id) ?? '' }))
  const clients = await em.find(
    Client,
    { id: { $in: refused.map(({ clientId }) => clientId) } },
    { fields: ['name'] }
  )
  const names = new Map(clients.map(({ id, name }) => [id, name]))
  const edges = refused
    .map(({ fault, clientId }) => refusedEdge(clientId, names.get(clientId) ?? '', fault))
    .sort((a, b) => (a.client_name < b.client_name ? -1 : 1))
  const first = refused[0]?.fault.errorCode ?? clientNotGranted
  const texts = [
    ...edges.slice(0, shownInMessage).map(({ client_name, message }) => `${client_name}: ${message}`),
    ...(edges.length > shownInMessage ? [`${edges.length - shownInMessage} more`] : [])
  ]
  const message = `${refused.length} of ${rules.length} clients cannot have the rule, and nothing is changed: ${texts.join('; ')}`
  return new Fault(first, message, { details: { edges, ...clientOf(refused[0]) } })
}

/** Names the client, other than the member's, that the refusal is about. */
const clientOf = (refused?: { readonly fault: Fault; readonly clientId: string }) => {
  const client_id = refused?.fault.details?.['client_id']
  return typeof client_id === 'string' && client_id !== refused?.clientId ? { client_id } : {}
}

const refusedEdge = (clientId: string, name: string, { errorCode, message, details }: Fault) => ({
  client_id: clientId,
  client_name: name,
  code: errorCode.code,
  message,
  ...(typeof details?.['rule_id'] === 'string' && { rule_id: details['rule_id'] })
})
