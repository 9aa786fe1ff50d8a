// Calls the plugins that own the kinds of objects. Encodes and decodes their objects.
import { isDeepStrictEqual } from 'node:util'
import type { Log } from '../../kernel/base/log.ts'
import { type Message, Refused } from '../../kernel/wire/message.ts'
import type { AgentCall, AgentObject, AgentObjectKind, ApplyOrder } from '../plugin.ts'
import type { SavedObject } from './object-store.ts'

export type Failure = Pick<Refused, 'code' | 'message'>

export class ObjectKinds {
  readonly #kinds: () => readonly AgentObjectKind[]
  readonly #call: () => AgentCall
  readonly #log: Log

  constructor(kinds: () => readonly AgentObjectKind[], call: () => AgentCall, log: Log) {
    this.#kinds = kinds
    this.#call = call
    this.#log = log
  }

  has(kind: string): boolean {
    return this.#find(kind) !== undefined
  }

  isLimit({ kind }: Pick<SavedObject, 'kind'>): boolean {
    return this.#find(kind)?.isLimit === true
  }

  /** Throws Refused if no plugin owns the kind. */
  toSaved({ kind, id, revision, value, bytes }: AgentObject): SavedObject {
    const encode = () => Uint8Array.from(this.#call().codec.encode(this.#messageOf(kind), value))
    return { kind, id, revision, bytes: bytes ?? encode() }
  }

  isEqual(object: SavedObject, value: unknown): boolean {
    const isEqual = this.#find(object.kind)?.isEqual ?? isDeepStrictEqual
    return isEqual(this.#decode(object), value)
  }

  /** Puts an object in force. Returns the failure, or null. `value`: the object, if already decoded. */
  async apply(object: SavedObject, value?: unknown): Promise<Failure | null> {
    const { kind, id } = object
    try {
      await this.#ownerOf(kind).apply(id, value ?? this.#decode(object), this.#call())
      return null
    } catch (error) {
      if (error instanceof Refused) return error
      this.#log.error('object.apply_failed', String(error), { kind, id })
      return { code: 'internal', message: String(error) }
    }
  }

  orderOf(object: SavedObject, value?: unknown): ApplyOrder | null {
    try {
      const owner = this.#find(object.kind)
      return owner?.applyOrder?.(value ?? this.#decode(object), this.#call()) ?? null
    } catch {
      return null // `apply` refuses an object that cannot be decoded
    }
  }

  /** Resolves when the object is out of force. `done` settles at the end of its drain. */
  async withdraw({ kind, id }: Pick<SavedObject, 'kind' | 'id'>, removal: 'drain' | 'cut') {
    const withdrawn = this.#find(kind)?.withdraw(id, removal, this.#call())
    return (await withdrawn) ?? { done: Promise.resolve() }
  }

  #decode({ kind, bytes }: SavedObject): unknown {
    return this.#call().codec.decode(this.#messageOf(kind), bytes)
  }

  #messageOf(kind: string): Message {
    const { saved, push } = this.#ownerOf(kind)
    return saved?.message ?? push
  }

  #find(name: string): AgentObjectKind | undefined {
    return this.#kinds().find(({ kind }) => kind === name)
  }

  #ownerOf(kind: string): AgentObjectKind {
    const owner = this.#find(kind)
    if (!owner) throw new Refused('kind_unknown', `no plugin of this agent owns objects of kind ${kind}`)
    return owner
  }
}
