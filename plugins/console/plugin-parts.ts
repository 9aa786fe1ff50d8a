// The pages and cards of plugins: read once, checked, and served under a name that has the hash of the file.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Fault, reasonOf, startupInvalid } from '../../kernel/base/errors.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import type { Filled, SlotReader } from '../../kernel/slot.ts'
import type { PartRow } from './schema.ts'
import { type ConsoleCard, type ConsolePage, consoleCardSlot, consolePageSlot } from './slots.ts'

export type Parts = ReturnType<typeof openParts>

const maxModuleBytes = 1_048_576

export function openParts({ filled }: { readonly filled: SlotReader }) {
  const modules = new Map<string, Buffer>()
  let parts: readonly { readonly row: PartRow; readonly role: ConsolePage['role'] }[] = []

  function rowOf({ by, value }: Filled<ConsoleCard | ConsolePage>): PartRow {
    const { title, element, module } = value
    const refuse = (what: string, cause?: unknown): never => {
      throw new Fault(startupInvalid, `plugin ${by}: ${element} for the console: ${what}`, { cause })
    }
    if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)+$/.test(element))
      refuse('the name of an element has small letters, digits and a hyphen, such as acme-idle-card')
    if (title.en.trim() === '') refuse('its title is empty')
    if ('name' in value && !/^[a-z][a-z0-9-]*$/.test(value.name))
      refuse(`its name ${value.name} is not in kebab-case`)
    const body = read(module, cause => refuse(`its module cannot be read: ${reasonOf(cause)}`, cause))
    if (body.length > maxModuleBytes) refuse('its module has more than 1 MiB')
    const file = `${by}-${createHash('sha256').update(body).digest('hex').slice(0, 16)}.js`
    modules.set(file, body)
    return {
      plugin: by,
      title: { en: title.en, de: title.de ?? title.en },
      element,
      module: `/v1/console/modules/${file}`,
      ...('name' in value
        ? { on: 'page', name: value.name, icon: value.icon ?? null }
        : { on: value.on, name: null, icon: null })
    }
  }

  return {
    /** Reads the files. Throws what stops the start: a wrong name, a file that is not there. */
    load(): void {
      parts = [...filled(consolePageSlot), ...filled(consoleCardSlot)].map(part => ({
        row: rowOf(part),
        role: part.value.role
      }))
    },
    seenBy: ({ role }: Pick<Principal, 'role'>): PartRow[] =>
      parts.filter(part => part.role === undefined || part.role === role).map(({ row }) => row),
    module: (file: string): Buffer | undefined => modules.get(file)
  }
}

function read(file: URL, refuse: (cause: unknown) => never): Buffer {
  try {
    return readFileSync(file)
  } catch (cause) {
    return refuse(cause)
  }
}
