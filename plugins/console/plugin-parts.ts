// Pages and cards of plugins. Their scripts are read at start and served under a name with a content hash. Strangers cannot
// compute it: a browser loads scripts without a credential.
import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Fault, reasonOf, startupInvalid } from '../../kernel/base/errors.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import { StoreValue } from '../../kernel/identity/entities.ts'
import { newSecret } from '../../kernel/identity/secret.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { Filled } from '../../kernel/slot.ts'
import { hasRole } from '../http/exports.ts'
import type { PartRow, StepRow } from './schema.ts'
import {
  type ConsoleCard,
  type ConsolePage,
  type ConsoleStep,
  consoleCardSlot,
  consolePageSlot,
  consoleStepSlot
} from './slots.ts'

export interface PluginParts {
  /** Reads and checks all scripts. Throws `startup_invalid` for a wrong name or an unreadable file. */
  load(): Promise<void>
  /** Returns the parts that the user may see. */
  visibleTo(caller: Pick<Principal, 'role'>): PartRow[]
  /** Returns the forms of sign-in steps, which everybody may see. */
  steps(): readonly StepRow[]
  /** Returns a script by its file name, or undefined. */
  script(file: string): Buffer | undefined
}

const maxModuleBytes = 1_048_576

export function openPluginParts({ filled, store }: Pick<Kernel, 'filled' | 'store'>): PluginParts {
  const scripts = new Map<string, Buffer>()
  let steps: readonly StepRow[] = []
  let parts: readonly { readonly row: PartRow; readonly role: ConsolePage['role'] }[] = []

  /** Reads and checks the script. Returns what the page needs to show its element. */
  function addScript({ by, value: { element, module } }: Filled<Scripted>, nameKey: string) {
    const refuse = refusalOf(by, element)
    if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)+$/.test(element))
      refuse('element must have lower-case letters, digits and a hyphen, such as acme-idle-card')
    const body = read(module, cause => refuse(`module cannot be read: ${reasonOf(cause)}`, cause))
    if (body.length > maxModuleBytes) refuse(`module must have at most 1 MiB, got ${body.length} bytes`)
    const file = `${by}-${createHmac('sha256', nameKey).update(body).digest('hex').slice(0, 16)}.js`
    scripts.set(file, body)
    return { plugin: by, element, module: `/v1/console/modules/${file}` }
  }

  function toRow(part: Filled<ConsoleCard | ConsolePage>, nameKey: string): PartRow {
    const { by, value } = part
    const { title, element } = value
    const refuse = refusalOf(by, element)
    if (title.en.trim() === '') refuse('title.en must not be empty')
    if ('name' in value && !/^[a-z][a-z0-9-]*$/.test(value.name))
      refuse(`name must be in kebab-case, got ${value.name}`)
    return {
      ...addScript(part, nameKey),
      title: { en: title.en, de: title.de ?? title.en },
      on: 'name' in value ? 'page' : value.on,
      name: 'name' in value ? value.name : null,
      icon: 'name' in value ? (value.icon ?? null) : null
    }
  }

  return {
    async load() {
      const nameKey = await readNameKey(store)
      parts = [...filled(consolePageSlot), ...filled(consoleCardSlot)].map(part => ({
        row: toRow(part, nameKey),
        role: part.value.role
      }))
      steps = filled(consoleStepSlot).map(part => ({ step: part.value.step, ...addScript(part, nameKey) }))
    },
    steps: () => steps,
    visibleTo: caller =>
      parts.filter(part => part.role === undefined || hasRole(caller, part.role)).map(({ row }) => row),
    script: file => scripts.get(file)
  }
}

type Scripted = Pick<ConsoleStep, 'element' | 'module'>

const refusalOf =
  (by: string, element: string) =>
  (what: string, cause?: unknown): never => {
    throw new Fault(startupInvalid, `plugin ${by}: ${element} of the console: ${what}`, { cause })
  }

/** Returns the secret of the store for names of scripts; all its servers use the same names. */
const readNameKey = (store: Kernel['store']): Promise<string> =>
  store.change(async em => {
    const name = 'console_module_key'
    const found = await em.findOne(StoreValue, { name })
    if (found) return found.value
    const value = newSecret()
    await em.insert(StoreValue, { name, value })
    return value
  })

function read(file: URL, refuse: (cause: unknown) => never): Buffer {
  try {
    return readFileSync(file)
  } catch (cause) {
    return refuse(cause)
  }
}
