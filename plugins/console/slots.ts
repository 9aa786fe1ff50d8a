// Slots for pages and cards of plugins. Each is a custom element in a separate script, loaded when it is shown. It shares no
// library with the console, so the console needs no rebuild.
import type { Role } from '../../kernel/http/principal.ts'
import { defineSlot } from '../../kernel/slot.ts'

interface Part {
  readonly title: { readonly en: string; readonly de?: string }
  readonly role?: Role // who sees it: at least this role; default: every signed-in user
  readonly module: URL // a script in the plugin's folder that defines the element; at most 1 MiB
  readonly element: string // 'acme-idle-card'
}

/** A page at /pages/NAME, with an entry in the navigation. */
export interface ConsolePage extends Part {
  readonly name: string // kebab-case
  readonly icon?: string // SVG path data of a 24x24 line icon
}

/** A card below the overview, a rule or a client. */
export interface ConsoleCard extends Part {
  readonly on: 'overview' | 'rule' | 'client'
}

export const consolePageSlot = defineSlot<ConsolePage>('console.page', {
  ifOwnerMissing: 'inert',
  keyOf: ({ name }) => name
})
export const consoleCardSlot = defineSlot<ConsoleCard>('console.card', { ifOwnerMissing: 'inert' })

/** The form of a further step of the sign-in. Without it the console shows a text field with the step's prompt. */
export interface ConsoleStep extends Pick<Part, 'module' | 'element'> {
  readonly step: string // its name in auth.step
}

export const consoleStepSlot = defineSlot<ConsoleStep>('console.step', {
  ifOwnerMissing: 'inert',
  keyOf: ({ step }) => step
})

/** Properties that the console sets before it adds the element of a step to the page. */
export interface StepElement {
  readonly methods: readonly string[] // of the demand
  readonly data: Readonly<Record<string, unknown>> // of the demand
  readonly language: 'en' | 'de'
  /** Sends the answer. The console shows a refusal below the element, or the next form. */
  answer(method: string, answer: string): void
}

/** Properties that the console sets before it adds the element to the page. It sets `context` again when it changes. */
export interface ConsoleElement {
  api: ConsoleApi
  context: ConsoleContext
  /** Called after a change on the server, and every 5 s. Not called while the tab is hidden. */
  refresh?(): void
}

/** Calls the API as the signed-in user. Throws an Error with `status` and `code` if the server refuses the call. */
export interface ConsoleApi {
  call(method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: unknown): Promise<unknown>
  /** Reads all pages of a list. */
  list(path: string): Promise<readonly unknown[]>
}

export interface ConsoleContext {
  readonly theme: 'light' | 'dark'
  readonly language: 'en' | 'de'
  readonly user: { readonly user_id: string; readonly role: Role }
  readonly rule_id?: string // on a card of a rule
  readonly client_id?: string // on a card of a client
  /** Navigates to a path of the console. */
  go(path: string): void
}
