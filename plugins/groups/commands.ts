// --clients of `rule push`, and `clients` in the file of `apply`.
import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import { Type } from '../../kernel/cli/args.ts'
import type { Api } from '../../kernel/cli/command.ts'
import { isId } from '../../kernel/platform/id.ts'
import { findClientId } from '../clients/command-exports.ts'
import { documentPlaceSlot, type PushOptions, pushOptionsSlot } from '../rules/command-exports.ts'
import type { Clients } from './group-clients.ts'

const pushOptions: PushOptions = {
  args: {
    clients: Type.Optional(
      Type.String({
        description:
          "A group instead of CLIENT: names or ids (paris,lyon), or a selector of labels ('env=prod,tier!=db')."
      })
    )
  },
  places: ({ clients }) => clients !== undefined,
  async body({ clients }, api) {
    if (clients === undefined) return {}
    return { clients: await readClients(String(clients).trim(), openReader(api)) }
  }
}

type Reader = Parameters<typeof findClientId>[0]

/**
 * Reads one name, a list of names and ids, or a selector. Names can have commas and the operators of selectors, so text
 * with two meanings is refused.
 */
async function readClients(text: string, reader: Reader): Promise<Clients> {
  const names = text.split(',').map(name => name.trim())
  const idsOf = async (names: readonly string[]): Promise<Clients> => ({
    ids: await Promise.all(names.map(name => findClientId(reader, name)))
  })
  if (names.every(isId)) return idsOf(names)
  const rows = await reader.list<{ readonly client_name: string }>('/v1/clients')
  const isClient = (name: string): boolean =>
    isId(name) || rows.some(({ client_name }) => client_name === name)

  const hasOperator = /[=!()]/.test(text)
  const isName = isClient(text)
  const isList = names.length > 1 && names.every(isClient)
  const isSelector = hasOperator && ((!isName && !isList) || (await isAccepted(text, reader)))
  if (Number(isName) + Number(isList) + Number(isSelector) > 1) {
    const meanings = [
      isName && 'the name of a client',
      isList && 'a list of clients',
      isSelector && 'a selector'
    ]
    const both = meanings.filter(meaning => meaning !== false).join(' and ')
    throw new Fault(
      wrongUsage,
      `--clients ${text} is both ${both}; give the ids of the clients, or rename one`
    )
  }
  if (isSelector) return { selector: text }
  return idsOf(isName ? [text] : names)
}

/** Returns whether the server accepts the selector. */
async function isAccepted(selector: string, { get }: Reader): Promise<boolean> {
  try {
    await get(`/v1/clients?${new URLSearchParams({ selector, limit: '1' })}`)
    return true
  } catch (error) {
    if (error instanceof Fault && error.errorCode.http === 400) return false
    throw error
  }
}

/** Reads each list only once. */
function openReader(api: Api): Reader {
  const lists = new Map<string, Promise<unknown[]>>()
  return {
    get: api.get,
    list<T>(path: string) {
      const rows = lists.get(path) ?? api.list(path)
      lists.set(path, rows)
      return rows as Promise<T[]> // of this path
    }
  }
}

export const commands = []

export const fills = [
  pushOptionsSlot.fill(pushOptions),
  documentPlaceSlot.fill({
    key: 'clients',
    mapClients(value, mapClient) {
      const { ids } = Object(value)
      return Array.isArray(ids) ? { ...Object(value), ids: ids.map(mapClient) } : value
    }
  })
]
