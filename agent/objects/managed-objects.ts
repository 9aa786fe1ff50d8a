// The objects that the server keeps on this agent: applied and saved. They outlive the stream and the process.
import type { Static } from 'typebox'
import type { Release } from '../../kernel/base/releases.ts'
import { digestOf, type InventoryPage, maxInventoryRows, objectKey } from '../../kernel/wire/control.ts'
import type { MessageChannel } from '../../kernel/wire/rpc.ts'
import type {
  AgentApplyResult,
  AgentCall,
  AgentObject,
  AgentObjectKind,
  AgentObjects,
  ApplyOrder,
  Attempts
} from '../plugin.ts'
import { openDrainingObjects } from './draining-objects.ts'
import { type Failure, ObjectKinds } from './object-kinds.ts'
import { ObjectReporter } from './object-reporter.ts'
import type { ObjectStore, SavedObject } from './object-store.ts'

interface Options extends Pick<AgentCall, 'clock' | 'log'> {
  readonly store: ObjectStore
  readonly kinds: readonly AgentObjectKind[]
  readonly call: () => AgentCall
}

/** `failure` null: applied. Otherwise failed: applied again when the retry is due. See README.md for the states. */
interface Entry {
  object: SavedObject
  readonly order: ApplyOrder | null
  readonly failure: Failure | null
  readonly retries: number
  cancelRetry: Release
}

const held: Failure = { code: 'held', message: 'waits for the other objects that come into force with it' }

export class ManagedObjects implements AgentObjects {
  readonly #options: Options
  readonly #store: ObjectStore
  readonly #kinds: ObjectKinds
  readonly #entries = new Map<string, Entry>()
  readonly #draining: ReturnType<typeof openDrainingObjects>
  readonly #reporter = new ObjectReporter()
  #lastChange: Promise<unknown> = Promise.resolve()
  #isClosed = false

  constructor(options: Options) {
    const { store, kinds, call, clock, log } = options
    this.#options = options
    this.#store = store
    this.#kinds = new ObjectKinds(kinds, call, log)
    this.#draining = openDrainingObjects(clock)
  }

  put(object: AgentObject, attempts: Attempts): Promise<AgentApplyResult> {
    return this.#serially(() => this.#put(object, attempts))
  }

  applyHeld(kind: string): Promise<void> {
    return this.#serially(async () => {
      const due = [...this.#entries.values()].filter(
        entry => entry.failure === held && entry.object.kind === kind
      )
      await Promise.all(due.sort(byRank).map(entry => this.#retry(entry)))
    })
  }

  drop(object: Omit<SavedObject, 'bytes'>, removal: 'drain' | 'cut'): Promise<AgentApplyResult> {
    return this.#serially(() => this.#drop(object, removal))
  }

  /** Applies all saved objects at the start, without a server: limits, then all others together. */
  restore(): Promise<void> {
    return this.#serially(async () => {
      const inOrder = this.#store
        .all()
        .map(object => ({ object, order: this.#kinds.orderOf(object) }))
        .sort(byRank)
        .map(({ object }) => object)
      const isLimit = (object: SavedObject): boolean => this.#kinds.isLimit(object)
      await Promise.all(inOrder.filter(isLimit).map(object => this.#restore(object)))
      await Promise.all(inOrder.filter(object => !isLimit(object)).map(object => this.#restore(object)))
    })
  }

  /** Returns the digest of the applied objects, for Hello. */
  digest(): string {
    this.#reporter.digestTaken()
    const applied = [...this.#entries.values()].filter(({ failure }) => failure === null)
    const objects = applied.map(({ object }) => object)
    return digestOf(this.#store.generation(), objects)
  }

  /** Takes from Welcome the generation of the server's store and the kinds it keeps; drops objects of other kinds. */
  welcome(generation: string, kinds: readonly string[]): Promise<void> {
    return this.#serially(async () => {
      if (generation !== this.#store.generation()) this.#adopt(generation)
      for (const { object } of [...this.#entries.values()])
        if (!kinds.includes(object.kind))
          await this.#drop(object, 'drain').catch(this.#logWithdrawFailed(object))
    })
  }

  /** Returns one page of the inventory: the rows after the key `after`. */
  inventory(after: string): Static<typeof InventoryPage.body> {
    const present = [...this.#entries.values()].map(({ object: { kind, id, revision }, failure }) => {
      return { kind, id, revision, state: failure ? ('waiting' as const) : ('applied' as const) }
    })
    const draining = this.#draining.draining().filter(row => !this.#entries.has(objectKey(row)))
    const rows = [...present, ...draining.map(row => ({ ...row, state: 'draining' as const }))]
      .filter(row => objectKey(row) > after)
      .sort((a, b) => (objectKey(a) < objectKey(b) ? -1 : 1))
    return { rows: rows.slice(0, maxInventoryRows), more: rows.length > maxInventoryRows }
  }

  /** Called when a stream is up: changes are reported on it. */
  attach(channel: MessageChannel): void {
    this.#draining.attach(channel)
    this.#reporter.attach(channel, this.#entries)
  }

  detach(): void {
    this.#reporter.detach()
    this.#draining.detach()
  }

  /** Cuts and deletes everything: the server has revoked this agent. */
  clear(): Promise<void> {
    return this.#serially(async () => {
      const objects = [...this.#entries.values()].map(({ object }) => object)
      const byLimit = Map.groupBy(objects, object => this.#kinds.isLimit(object))
      for (const isLimit of [false, true])
        await Promise.all(
          (byLimit.get(isLimit) ?? []).map(object =>
            this.#drop(object, 'cut').catch(this.#logWithdrawFailed(object))
          )
        )
      this.#store.clear()
    })
  }

  /** Called when the agent stops: nothing changes any more, and new changes stay unanswered. */
  close(): void {
    this.#isClosed = true
    for (const { cancelRetry } of this.#entries.values()) cancelRetry()
  }

  /** Runs one change after another. A change that has not begun when the agent stops never settles. */
  #serially<T>(change: () => Promise<T>): Promise<T> {
    const done = this.#lastChange.then(() => (this.#isClosed ? new Promise<T>(() => {}) : change()))
    this.#lastChange = done.catch(() => {})
    return done
  }

  async #put(given: AgentObject, attempts: Attempts): Promise<AgentApplyResult> {
    const { revision, value } = given
    const present = this.#entries.get(objectKey(given))
    if (present && revision < present.object.revision) return resultOf(present)
    const dropped = this.#draining.revisionOf(given)
    if (revision < dropped) return { status: 'applied', revision: dropped }

    const object = this.#kinds.toSaved(given)
    const isSame = present?.failure === null && this.#kinds.isEqual(present.object, value)
    present?.cancelRetry()
    if (present?.object.revision !== revision || !isSame) this.#store.save(object)
    const order = this.#kinds.orderOf(object, value)
    if (attempts === 'held' && order?.isShared && present?.failure !== null) {
      this.#set({ object, order, failure: held, retries: 0 })
      return { status: 'applied', revision: 0 }
    }
    const failure = isSame ? null : await this.#kinds.apply(object, value)
    if (failure && attempts === 'once') {
      await this.#restorePrevious(present?.object, object)
      return resultOf({ object, failure })
    }
    // Fail closed: the object that it replaces may allow more than the server now wants; a limit allows nothing.
    if (failure && present?.failure === null && !this.#kinds.isLimit(object))
      await this.#kinds.withdraw(object, 'drain').catch(this.#logWithdrawFailed(object))
    return resultOf(this.#set({ object, order, failure, retries: 0 }))
  }

  /** Undoes a refused put: restores the object that was there before, or none. */
  async #restorePrevious(before: SavedObject | undefined, refused: SavedObject): Promise<void> {
    if (!before) return this.#store.remove(refused)
    this.#store.save(before)
    await this.#load(before)
  }

  /** Applies a saved object at the start. A failure is only logged. */
  async #restore(object: SavedObject): Promise<void> {
    const failure = await this.#load(object)
    const { kind, id } = object
    if (failure)
      this.#options.log.warn('held.not_restored', failure.message, { kind, id, code: failure.code })
  }

  /** Applies a saved object; returns why it cannot be, or null. */
  async #load(object: SavedObject): Promise<Failure | null> {
    const failure = await this.#kinds.apply(object)
    this.#set({ object, order: this.#kinds.orderOf(object), failure, retries: 0 })
    return failure
  }

  /** Sets the object's state; one that failed is applied again, unless no plugin owns its kind. */
  #set(given: Omit<Entry, 'cancelRetry'>): Entry {
    const entry: Entry = { ...given, cancelRetry: () => {} }
    this.#entries.set(objectKey(given.object), entry)
    if (given.failure && given.failure !== held && this.#kinds.has(given.object.kind)) {
      const ms = Math.min(1000 * 2 ** given.retries, 60_000)
      entry.cancelRetry = this.#options.clock.after(
        ms,
        () => void this.#serially(() => this.#retryGroup(entry))
      )
    }
    return entry
  }

  /** Applies the failed objects of the entry's group again, together: they may all wait for the same thing. */
  async #retryGroup(due: Entry): Promise<void> {
    if (this.#entries.get(objectKey(due.object)) !== due) return
    const group = [...this.#entries.values()].filter(
      ({ object, order, failure }) =>
        failure &&
        failure !== held &&
        order &&
        object.kind === due.object.kind &&
        order.group === due.order?.group
    )
    await Promise.all((due.order ? group.sort(byRank) : [due]).map(entry => this.#retry(entry)))
  }

  async #retry({ object, order, failure: before, retries, cancelRetry }: Entry): Promise<void> {
    cancelRetry()
    const failure = await this.#kinds.apply(object)
    const next = this.#set({ object, order, failure, retries: retries + 1 })
    if (failure?.code !== before?.code) this.#reporter.report(next)
  }

  async #drop(object: Omit<SavedObject, 'bytes'>, removal: 'drain' | 'cut'): Promise<AgentApplyResult> {
    const { kind, id, revision } = object
    const present = this.#entries.get(objectKey(object))
    if (present && revision < present.object.revision) return resultOf(present)
    present?.cancelRetry()
    const { done } = await this.#kinds.withdraw(object, removal)
    this.#store.remove(object)
    this.#entries.delete(objectKey(object))
    this.#draining.add({ kind, id, revision }, done)
    return { status: 'applied', revision }
  }

  #adopt(generation: string): void {
    this.#store.adopt(generation)
    this.#draining.resetRevisions()
    for (const entry of this.#entries.values()) entry.object = { ...entry.object, revision: 0 }
  }

  #logWithdrawFailed({ kind, id }: SavedObject) {
    return (error: unknown): void =>
      this.#options.log.error('held.withdraw_failed', `it may still be in force: ${String(error)}`, {
        kind,
        id
      })
  }
}

type Ordered = Pick<Entry, 'order'>

const byRank = (a: Ordered, b: Ordered): number => (a.order?.rank ?? 0) - (b.order?.rank ?? 0)

const resultOf = ({ object: { revision }, failure }: Pick<Entry, 'object' | 'failure'>): AgentApplyResult =>
  failure
    ? { status: 'refused', revision, code: failure.code, message: failure.message }
    : { status: 'applied', revision }
