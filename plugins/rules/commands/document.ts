// The contract of `apply`: one document lists objects by kind, and each kind belongs to a plugin. It is not in `apply`,
// because plugins with a kind must work without `apply`, and need rules anyway.
import { isDeepStrictEqual } from 'node:util'
import type { Api, CommandCall } from '../../../kernel/cli/command.ts'
import { defineSlot } from '../../../kernel/slot.ts'
import type { DeliveryOptions } from '../api/delivery-options.ts'

export type DocumentEntry = Readonly<Record<string, unknown>>

/** An object on the server or in the document. */
export interface DocumentItem {
  readonly key: string // matches the one in the document with the one on the server
  readonly body: DocumentEntry // as in the request of its create, with client ids
  readonly id: string // on the server; in the document '', or the id that the entry gives
  readonly delivery?: DeliveryOptions // of an entry that has its own
  readonly unsettled?: string | null // on the server: see `describeUnsettled`
  readonly isImplicit?: boolean // on the server: it exists because of other objects, so exports and --prune leave it out
}

/** The caller, the server's clients, and what it knows of each kind, read once for each run. */
export interface DocumentContext {
  readonly api: Api
  readonly filled: CommandCall<object>['filled']
  readonly userId: string
  readonly seesAll: boolean // with the objects of others
  readonly delivery: DeliveryOptions // for entries without their own
  /** Returns the id of the client with this id or name; throws `validation.schema` when not exactly one has it. */
  clientId(idOrName: unknown): string
  /** Returns the client's name, or its id when several clients have the name. */
  clientName(id: unknown): string
  /** Returns when an offline client was last seen, in ms since 1970; null: it is connected, or not known. */
  offlineSince(clientId: unknown): number | null
  /** Returns the values that records of a kind show for omitted properties, by key. */
  defaults(kind: string): DocumentEntry
  /** Returns the properties that distinguish objects of a kind, besides those that the kind knows. */
  distinguishing(kind: string): readonly string[]
  /** Returns the properties of parts of an object that only records show: 'targets.health'; null: the server is older. */
  readOnly(kind: string): readonly string[] | null
}

export interface DocumentKind {
  readonly name: string // of the list in the document: 'rules'
  /** The order of creation: owners (users), then their limits (grants), then the objects that need them (rules). */
  readonly role: 'owner' | 'limit' | 'object'
  /** Returns the name that identifies the object before `key` does; null: it has none. */
  nameKey?(item: DocumentItem): string | null
  /**
   * With `--prune`: if exactly one unmatched entry of the document and one unmatched object of the server have this key,
   * the object changes its `key` and is not deleted.
   */
  movedKey?(item: DocumentItem): string
  /** Several objects may have the same key, if they differ in more than fields of other plugins: equal ones are matched first. */
  readonly hasSeveral?: true
  /** Lists the objects that the user may change. */
  list(context: DocumentContext): Promise<DocumentItem[]>
  /** Returns the entry with ids of clients instead of names. Other values can still be invalid. Throws `validation.schema`. */
  resolve?(entry: DocumentEntry, context: DocumentContext): DocumentEntry
  /** Reads an entry that the server has validated and normalized; throws `validation.schema`. */
  parse(entry: DocumentEntry, context: DocumentContext): DocumentItem
  /** Returns the entry of `export`, with client names. */
  format(item: DocumentItem, context: DocumentContext): DocumentEntry
  /** Returns the name in plans: `rule paris tcp 8000-8010`. */
  label(item: DocumentItem, context: DocumentContext): string
  /** Fills in the properties that the document leaves to the server. */
  complete?(item: DocumentItem, present: DocumentItem): DocumentItem
  /** Counts live connections and flows that end when the object is removed. */
  liveTraffic?(item: DocumentItem, context: DocumentContext): Promise<number>
  /** These resolve with a record for `describeUnsettled`, or with anything else. */
  create(item: DocumentItem, context: DocumentContext): Promise<unknown>
  /**
   * Returns the change in place, or null when the object must be replaced; throws `validation.schema` when it cannot be.
   * A kind without it is always replaced.
   */
  change?(from: DocumentItem, to: DocumentItem, context: DocumentContext): (() => Promise<unknown>) | null
  /** Replaces the object at once, or leaves it as it was. Without it, the new one is created, then the old removed. */
  replace?(from: DocumentItem, to: DocumentItem, context: DocumentContext): Promise<unknown>
  remove(item: DocumentItem, context: DocumentContext): Promise<unknown>
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

/** A property of rules and of their targets with ids or names of clients. */
export interface DocumentClients {
  readonly key: string // 'via'
  /** Maps the clients in the value of a rule or of a target: names to ids, or ids to names. */
  mapClients(value: unknown, mapClient: (client: unknown) => string): unknown
}

/** Only commands read it, like `documentKindSlot`. */
export const documentClientsSlot = defineSlot<DocumentClients>('rules.document-clients', {
  keyOf: ({ key }) => key
})

/**
 * Returns 'pending' or 'failed: port_in_use' for the record of a rule, quota or limit that a client does not have in force;
 * else null. An offline client lacks a rule that changed after it was last seen.
 */
export function describeUnsettled(
  record: unknown,
  { offlineSince }: Pick<DocumentContext, 'offlineSince'>
): string | null {
  const { enforced, edges, ...rule } = Object(record)
  const places = Array.isArray(edges) ? edges.map(Object) : [rule] // a group rule has an edge for each client
  const failed = places.find(({ state }) => state === 'failed')
  if (failed) {
    const { client_name = null, state_reason: reason = null } = failed
    const where = Array.isArray(edges) && client_name !== null ? ` on ${client_name}` : ''
    return `failed${where}${reason === null ? '' : `: ${reason}`}`
  }
  const isMissed = ({ client_id }: { client_id?: unknown }): boolean => {
    const since = offlineSince(client_id)
    return since !== null && rule.state !== undefined && Date.parse(rule.updated_at) > since
  }
  const isPending =
    rule.change_pending === true || places.some(place => place.state === 'pending' || isMissed(place))
  return isPending || enforced === false ? 'pending' : null
}

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
