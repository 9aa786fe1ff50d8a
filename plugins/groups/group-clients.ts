// The clients of a group: their ids, or a selector of their labels.
import { Type } from 'typebox'
import { defineCode, Fault, limitReached } from '../../kernel/base/errors.ts'
import { ClientId, closed } from '../../kernel/http/schema.ts'
import { isId } from '../../kernel/platform/id.ts'

export const invalidClients = defineCode('validation.clients', 400, 3)

export const key = 'clients'
export const maxClients = 1000

export type Clients = { readonly ids: readonly string[] } | { readonly selector: string }

export const schema = Type.Unsafe<Clients>(
  closed(
    {
      ids: Type.Optional(
        Type.Array(ClientId, { minItems: 1, description: `client_ids of the group, at most ${maxClients}.` })
      ),
      selector: Type.Optional(
        Type.String({
          maxLength: 4096,
          description: 'Labels of clients: the group has all that match, now and later.',
          examples: ['env=prod']
        })
      )
    },
    {
      code: invalidClients.code,
      description:
        'A group of clients instead of `client`: either ids or a selector. Each client gets the rule.',
      examples: [{ selector: 'env=prod,tier!=db' }]
    }
  )
)

/** Returns the group in one form; throws `validation.clients` and `limit_reached`. */
export function parseClients(given: Clients): Clients {
  const { ids, selector } = given as { readonly ids?: readonly string[]; readonly selector?: string }
  if ((ids === undefined) === (selector === undefined))
    throw refusal(
      `/${key}`,
      'oneOf',
      `/${key} is either {ids} or {selector}; to switch, send the other as null`
    )
  if (selector !== undefined) return { selector: selector.trim() }
  const distinct = [...new Set(ids)]
  const wrong = distinct.findIndex(id => !isId(id))
  if (wrong >= 0)
    throw refusal(
      `/${key}/ids/${ids?.indexOf(distinct[wrong] ?? '')}`,
      'format',
      `/${key}/ids has ${distinct[wrong]}, which is not a client_id`
    )
  if (distinct.length > maxClients)
    throw new Fault(
      limitReached,
      `/${key}/ids has ${distinct.length} clients; a group has at most ${maxClients}: choose fewer`,
      {
        details: { field: `/${key}/ids`, limit: maxClients }
      }
    )
  return { ids: distinct }
}

const refusal = (field: string, reason: string, message: string): Fault =>
  new Fault(invalidClients, message, { details: { field, reason } })
