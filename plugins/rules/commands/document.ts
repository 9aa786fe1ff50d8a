// The contract of `apply`: one document lists objects by kind, and each kind belongs to a plugin. It is not in `apply`,
// because plugins with a kind must work without `apply`, and need rules anyway.
import { isDeepStrictEqual } from 'node:util'
import type { Api, CommandCall } from '../../../kernel/cli/command.ts'
import { defineSlot } from '../../../kernel/slot.ts'

export type DocumentEntry = Readonly<Record<string, unknown>>

/** An object on the server or in the document. */
export interface DocumentItem {
  readonly key: string // matches the one in the document with the one on the server
  readonly body: DocumentEntry // as in the request of its create, with client ids
  readonly id: string // on the server; in the document '', or the id that the entry gives
}

/** The caller, the server's clients, and what it knows of each kind, read once for each run. */
export interface DocumentContext {
  readonly api: Api
  readonly filled: CommandCall<object>['filled']
  readonly userId: string
  readonly isSuperadmin: boolean
  /** Returns the id of the client with this id or name; throws `validation.schema` when not exactly one has it. */
  clientId(idOrName: unknown): string
  /** Returns the client's name, or its id when several clients have the name. */
  clientName(id: unknown): string
  /** Returns the values that records of a kind show for omitted properties, by key. */
  defaults(kind: string): DocumentEntry
  /** Returns the properties that distinguish objects of a kind, besides those that the kind knows. */
  distinguishing(kind: string): readonly string[]
}

export interface DocumentKind {
  readonly name: string // of the list in the document: 'rules'
  /** The order of creation: owners (users), then their limits (grants), then the objects that need them (rules). */
  readonly role: 'owner' | 'limit' | 'object'
  /**
   * With `--prune`: if exactly one unmatched entry of the document and one unmatched object of the server have this key,
   * the object changes its `key` and is not deleted.
   */
  movedKey?(item: DocumentItem): string
  /** Several objects may have the same key: those with the same body are matched first. */
  readonly hasSeveral?: true
  /** Lists the objects that the user may change. */
  list(context: DocumentContext): Promise<DocumentItem[]>
  /** Reads an entry of the document; throws `validation.schema`. */
  parse(entry: DocumentEntry, context: DocumentContext): DocumentItem
  /** Returns the entry of `export`, with client names. */
  format(item: DocumentItem, context: DocumentContext): DocumentEntry
  /** Returns the name in plans: `rule paris tcp 8000-8010`. */
  label(item: DocumentItem, context: DocumentContext): string
  /** Fills in the properties that the document leaves to the server. */
  complete?(item: DocumentItem, present: DocumentItem): DocumentItem
  /** Counts live connections and flows that end when the object is removed. */
  liveTraffic?(item: DocumentItem, context: DocumentContext): Promise<number>
  create(item: DocumentItem, context: DocumentContext): Promise<void>
  /**
   * Returns the change in place, or null when the object must be replaced; throws `validation.schema` when it cannot be.
   * A kind without it is always replaced.
   */
  change?(from: DocumentItem, to: DocumentItem, context: DocumentContext): (() => Promise<void>) | null
  /** Replaces the object at once, or leaves it as it was. Without it, the new one is created, then the old removed. */
  replace?(from: DocumentItem, to: DocumentItem, context: DocumentContext): Promise<void>
  remove(item: DocumentItem, context: DocumentContext): Promise<void>
}

/**
 * Only commands read it, and they load nothing else of the plugin: its `commands.ts` has the fill, too. The server reads
 * the schema of entries from `documentSchemaSlot`.
 */
export const documentKindSlot = defineSlot<DocumentKind>('rules.document-kind', {
  keyOf: ({ name }) => name
})

/** A property that places rules of the document instead of `client`. */
export interface DocumentPlace {
  readonly key: string // 'clients'
  /** Maps the clients in the value: names to ids, or ids to names. */
  mapClients(value: unknown, mapClient: (client: unknown) => string): unknown
}

/** Only commands read it, like `documentKindSlot`. */
export const documentPlaceSlot = defineSlot<DocumentPlace>('rules.document-place', {
  keyOf: ({ key }) => key
})

/** Compares two bodies without the properties in `except`; null equals absent. */
export function hasSameBody(a: DocumentItem, b: DocumentItem, except: readonly string[] = []): boolean {
  const compared = ({ body }: DocumentItem): unknown =>
    withoutNull(Object.fromEntries(Object.entries(body).filter(([key]) => !except.includes(key))))
  return isDeepStrictEqual(compared(a), compared(b))
}

/** Returns the merge patch (RFC 7396) that turns `from` into `to`; undefined: they are equal. */
export function makeMergePatch(from: unknown, to: unknown): unknown {
  if (isDeepStrictEqual(from, to)) return undefined
  if (!isTable(from) || !isTable(to)) return to ?? null
  const keys = [...new Set([...Object.keys(from), ...Object.keys(to)])]
  const parts = keys.map(key => [key, makeMergePatch(from[key] ?? null, to[key] ?? null)] as const)
  return Object.fromEntries(parts.filter(([, part]) => part !== undefined))
}

const isTable = (value: unknown): value is DocumentEntry =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export function withoutNull(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNull)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, part]) => (part === null ? [] : [[key, withoutNull(part)]]))
  )
}
