// How a plugin brings a page, or a card on a page that is there: a custom element in a file of its own. It is loaded when it
// is shown; it shares no library with the console, and nothing is built again.
import { defineSlot } from '../../kernel/slot.ts'

interface Part {
  readonly title: { readonly en: string; readonly de?: string }
  readonly role?: 'superadmin' // who sees it; default: everybody who is signed in
  readonly module: URL // JavaScript, in the folder of the plugin: it defines the element; at most 1 MiB
  readonly element: string // 'acme-idle-card'
}

/** At /pages/NAME, and in the navigation. */
export interface ConsolePage extends Part {
  readonly name: string // kebab-case
  readonly icon?: string // path of an SVG of 24 by 24, drawn as a line
}

/** Below the overview, a rule or an edge. */
export interface ConsoleCard extends Part {
  readonly on: 'overview' | 'rule' | 'edge'
}

export const consolePageSlot = defineSlot<ConsolePage>('console.page', {
  ifOwnerMissing: 'inert',
  keyOf: ({ name }) => name
})
export const consoleCardSlot = defineSlot<ConsoleCard>('console.card', { ifOwnerMissing: 'inert' })

/** What the console sets of an element, before it is in the page; `context` again whenever it changes. */
export interface ConsoleElement {
  api: ConsoleApi
  context: ConsoleContext
  /** Called when what it shows may have changed: the server says so, or 5 s are over. Not called while nobody sees it. */
  refresh?(): void
}

/** Calls the API as the user of the page. Throws an Error with the `status` and the `code` of the refusal. */
export interface ConsoleApi {
  call(method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: unknown): Promise<unknown>
  /** Reads all pages of a list. */
  list(path: string): Promise<readonly unknown[]>
}

export interface ConsoleContext {
  readonly theme: 'light' | 'dark'
  readonly language: 'en' | 'de'
  readonly user: { readonly user_id: string; readonly role: 'superadmin' | 'user' }
  readonly rule_id?: string // of a card on a rule
  readonly client_id?: string // of a card on an edge
  /** Shows another page of the console. */
  go(path: string): void
}
