// --clients of `rule push`, and `clients` in the file of `apply`.
import { Type } from '../../kernel/cli/args.ts'
import type { Api } from '../../kernel/cli/command.ts'
import { findClientId } from '../clients/exports.ts'
import { documentPlaceSlot, type PushOptions, pushOptionsSlot } from '../rules/command-exports.ts'

/** Client names have none of these characters. */
const isSelector = (text: string): boolean => /[=!()]/.test(text)

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
    const text = String(clients)
    if (isSelector(text)) return { clients: { selector: text } }
    return { clients: { ids: await idsOf(text.split(','), api) } }
  }
}

/** Reads the list of clients only once for all names. */
async function idsOf(names: readonly string[], api: Api): Promise<string[]> {
  const lists = new Map<string, Promise<unknown[]>>()
  const list = <T>(path: string): Promise<T[]> => {
    const rows = lists.get(path) ?? api.list(path)
    lists.set(path, rows)
    return rows as Promise<T[]> // of this path
  }
  return Promise.all(names.map(name => findClientId({ get: api.get, list }, name.trim())))
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
