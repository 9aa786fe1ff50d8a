// --clients of `rule push`, and `clients` in the file of `apply`.
import { Type } from '../../kernel/cli/args.ts'
import { findClientId } from '../clients/exports.ts'
import { documentPlaceSlot, type PushOptions, pushOptionsSlot } from '../rules/command-exports.ts'

/** A name of a client has none of these. */
const isSelector = (text: string): boolean => /[=!()]/.test(text)

const pushOptions: PushOptions = {
  args: {
    clients: Type.Optional(
      Type.String({
        description:
          "A group in place of CLIENT: names or ids (paris,lyon), or a selector of labels ('env=prod,tier!=db')."
      })
    )
  },
  places: ({ clients }) => clients !== undefined,
  async body({ clients }, api) {
    if (clients === undefined) return {}
    const text = String(clients)
    if (isSelector(text)) return { clients: { selector: text } }
    const names = text.split(',').map(name => name.trim())
    return { clients: { ids: await Promise.all(names.map(name => findClientId(api, name))) } }
  }
}

export const commands = []

export const fills = [
  pushOptionsSlot.fill(pushOptions),
  documentPlaceSlot.fill({
    key: 'clients',
    reworded(value, wordOf) {
      const { ids } = Object(value)
      return Array.isArray(ids) ? { ...Object(value), ids: ids.map(wordOf) } : value
    }
  })
]
