// The objects that the server manages on this agent: applied and saved. They outlive the stream and the process.
import type { Static } from 'typebox'
import { digestOf, type InventoryPage, maxInventoryRows, objectKey } from '../../kernel/wire/control.ts'
import type { MessageChannel } from '../../kernel/wire/rpc.ts'
import type {
  AgentApplyResult,
  AgentCall,
  AgentObject,
  AgentObjectKind,
  AgentObjects,
  Attempts
} from '../plugin.ts'
import { waitForLock } from '../state/wait-for-lock.ts'
import { type DrainingObjects, openDrainingObjects } from './draining-objects.ts'
import { type Failure, ObjectKinds } from './object-kinds.ts'
import { ObjectReporter } from './object-reporter.ts'
import { byRank, ObjectStates, type PresentObject, reasonOf, resultOf, stateAfter } from './object-states.ts'
import type { ObjectStore, SavedObject } from './object-store.ts'
import { openRetryTimers, type RetryTimers } from './retry-timers.ts'

interface Options extends Pick<AgentCall, 'clock' | 'log'> {
  readonly store: ObjectStore
  readonly kinds: () => readonly AgentObjectKind[]
  readonly call: () => AgentCall
}

/** A put that waits for its turn. */
interface Put {
  readonly given: AgentObject
  readonly attempts: Attempts
  readonly answer: PromiseWithResolvers<AgentApplyResult>
}

/** A drop that waits for its turn. */
interface Drop {
  readonly object: Omit<SavedObject, 'bytes'>
  readonly removal: 'drain' | 'cut'
  readonly answer: PromiseWithResolvers<AgentApplyResult>
}

/** A put that may change something. */
interface DuePut extends Put {
  readonly object: SavedObject
  readonly isInForce: boolean // an equal object is
  readonly isSaved: boolean
}

export class ManagedObjects implements AgentObjects {
  readonly #options: Options
  readonly #store: ObjectStore
  readonly #kinds: ObjectKinds
  readonly #states = new ObjectStates()
  readonly #retryTimers: RetryTimers
  readonly #draining: DrainingObjects
  readonly #reporter = new ObjectReporter()
  #lastChange: Promise<unknown> = Promise.resolve()
  /** The puts of the last waiting turn by object; null: another change is last. */
  #group: Map<string, Put> | null = null
  /** The drops of the last waiting turn; null: another change is last. */
  #drops: Drop[] | null = null
  #isClosed = false

  constructor(options: Options) {
    const { store, kinds, call, clock, log } = options
    this.#options = options
    this.#store = store
    this.#kinds = new ObjectKinds(kinds, call, log)
    this.#draining = openDrainingObjects(clock)
    this.#retryTimers = openRetryTimers(clock)
  }

  /** Puts that arrive together share a turn. */
  put(given: AgentObject, attempts: Attempts): Promise<AgentApplyResult> {
    const key = objectKey(given)
    const answer = Promise.withResolvers<AgentApplyResult>()
    let group = this.#group
    if (!group || group.has(key)) {
      const newGroup = new Map<string, Put>()
      void this.#serially(() => this.#putAll(newGroup))
      group = newGroup
    }
    this.#group = group.set(key, { given, attempts, answer })
    return answer.promise
  }

  applyDeferred(kind: string): Promise<void> {
    return this.#serially(async () => {
      await Promise.all(this.#states.deferred(kind).map(object => this.#applyAgain(object)))
    })
  }

  /** Drops that arrive together share a turn. */
  drop(object: Omit<SavedObject, 'bytes'>, removal: 'drain' | 'cut'): Promise<AgentApplyResult> {
    const answer = Promise.withResolvers<AgentApplyResult>()
    let drops = this.#drops
    if (!drops) {
      const newDrops: Drop[] = []
      void this.#serially(() => this.#dropAll(newDrops))
      drops = newDrops
    }
    drops.push({ object, removal, answer })
    this.#drops = drops
    return answer.promise
  }

  /** Applies all saved objects at the start. Needs no server. */
  restore(): Promise<void> {
    return this.#serially(() => this.#inOrder(this.#store.all(), object => this.#restore(object)))
  }

  /**
   * Withdraws the objects of the leaving kinds, and runs `change`, which replaces the owners of kinds. Then applies all
   * objects again, except limits with an unchanged owner.
   */
  changeOwners<T>(leaving: ReadonlySet<string>, change: () => Promise<T>): Promise<T> {
    return this.#serially(async () => {
      const isLeaving = ({ kind }: SavedObject): boolean => leaving.has(kind)
      const inForce = this.#states.applied().filter(isLeaving)
      await Promise.all(inForce.map(object => this.#withdraw(object)))
      try {
        return await change()
      } finally {
        const tried = this.#states.all().filter(({ state }) => state.name !== 'deferred')
        const again = tried.filter(({ object }) => isLeaving(object) || !this.#kinds.isLimit(object))
        const objects = again.map(({ object }) => object)
        await this.#inOrder(objects, object => this.#reapply(object))
      }
    })
  }

  /** Applies limits first, then all others together: no rule opens without its limits or with only half of its group. */
  async #inOrder(objects: readonly SavedObject[], apply: (object: SavedObject) => Promise<void>) {
    const inOrder = objects
      .map(object => ({ object, order: this.#kinds.orderOf(object) }))
      .sort(byRank)
      .map(({ object }) => object)
    const isLimit = (object: SavedObject): boolean => this.#kinds.isLimit(object)
    await Promise.all(inOrder.filter(isLimit).map(apply))
    await Promise.all(inOrder.filter(object => !isLimit(object)).map(apply))
  }

  /** Returns the digest of the applied objects, for Hello. */
  digest(): string {
    this.#reporter.digestTaken()
    return digestOf(this.#store.generation(), this.#states.applied())
  }

  /** Adopts the generation and the kinds of the server's store, from Welcome. Drops objects of other kinds. */
  welcome(generation: string, kinds: readonly string[]): Promise<void> {
    return this.#serially(async () => {
      if (generation !== this.#store.generation()) await this.#adopt(generation)
      for (const { object } of this.#states.all())
        if (!kinds.includes(object.kind))
          await this.#drop(object, 'drain').catch(this.#logWithdrawFailed(object))
    })
  }

  /** Returns one page of the inventory: the rows after the key `after`. */
  inventory(after: string): Static<typeof InventoryPage.body> {
    const present = this.#states.all().map(({ object: { kind, id, revision }, state }) => {
      return { kind, id, revision, state: state.name === 'applied' ? state.name : ('waiting' as const) }
    })
    const draining = this.#draining.draining().filter(row => !this.#states.get(row))
    const rows = [...present, ...draining.map(row => ({ ...row, state: 'draining' as const }))]
      .filter(row => objectKey(row) > after)
      .sort((a, b) => (objectKey(a) < objectKey(b) ? -1 : 1))
    return { rows: rows.slice(0, maxInventoryRows), more: rows.length > maxInventoryRows }
  }

  /** Returns the failed and deferred objects with their reasons. */
  notInForce() {
    return this.#states.all().flatMap(({ object: { kind, id }, state }) => {
      const failure = reasonOf(state)
      return failure ? [{ kind, id, reason: failure.code, message: failure.message }] : []
    })
  }

  /** Called when a stream is up. Changes are reported on it. */
  attach(channel: MessageChannel): void {
    this.#draining.attach(channel)
    this.#reporter.attach(channel, this.#states)
  }

  detach(): void {
    this.#reporter.detach()
    this.#draining.detach()
  }

  /** Cuts and deletes everything: the server has revoked this agent. */
  clear(): Promise<void> {
    return this.#serially(async () => {
      const objects = this.#states.all().map(({ object }) => object)
      const byLimit = Map.groupBy(objects, object => this.#kinds.isLimit(object))
      for (const isLimit of [false, true])
        await Promise.all(
          (byLimit.get(isLimit) ?? []).map(object =>
            this.#drop(object, 'cut').catch(this.#logWithdrawFailed(object))
          )
        )
      await this.#write(() => this.#store.clear())
    })
  }

  /** Called when the agent stops. Nothing changes later, and new changes stay unanswered. */
  close(): void {
    this.#isClosed = true
    this.#retryTimers.cancelAll()
  }

  /** Runs one change after another. A change that has not started when the agent stops never settles. */
  #serially<T>(change: () => Promise<T>): Promise<T> {
    this.#group = null
    this.#drops = null
    const done = this.#lastChange.then(() => (this.#isClosed ? new Promise<T>(() => {}) : change()))
    this.#lastChange = done.catch(() => {})
    return done
  }

  /** Writes to disk. Never settles if the agent stops while another process has locked the database. */
  async #write(write: () => void): Promise<void> {
    await waitForLock(() => {
      if (!this.#isClosed) write()
    })
    if (this.#isClosed) await new Promise(() => {})
  }

  /** Saves all with one sync of the disk, then applies one after another. Never rejects. */
  async #putAll(group: Map<string, Put>): Promise<void> {
    if (this.#group === group) this.#group = null
    const due = [...group.values()].flatMap(put => this.#due(put))
    const failed = await this.#saveAll(due.filter(({ isSaved }) => !isSaved))
    for (const put of due)
      if (!failed.includes(put)) await this.#put(put).then(put.answer.resolve, put.answer.reject)
  }

  /** Answers a put that is outdated or that no plugin takes. Returns any other. */
  #due(put: Put): DuePut[] {
    const { given, answer } = put
    const { revision, value } = given
    const present = this.#states.get(given)
    const dropped = this.#draining.revisionOf(given)
    try {
      if (present && revision < present.object.revision) answer.resolve(resultOf(present))
      else if (revision < dropped) answer.resolve({ status: 'applied', revision: dropped })
      else {
        const object = this.#kinds.toSaved(given)
        const isInForce = present?.state.name === 'applied' && this.#kinds.isEqual(present.object, value)
        return [{ ...put, object, isInForce, isSaved: isInForce && present.object.revision === revision }]
      }
    } catch (error) {
      answer.reject(error)
    }
    return []
  }

  /** Returns the puts that could not be saved. They change nothing. */
  async #saveAll(puts: readonly DuePut[]): Promise<readonly DuePut[]> {
    try {
      await this.#write(() => this.#store.save(...puts.map(({ object }) => object)))
      return []
    } catch (error) {
      for (const { answer } of puts) answer.reject(error)
      return puts
    }
  }

  async #put({ given: { value }, object, attempts, isInForce }: DuePut): Promise<AgentApplyResult> {
    const present = this.#states.get(object)
    const isApplied = present?.state.name === 'applied'
    const order = this.#kinds.orderOf(object, value)
    if (attempts === 'deferred' && order?.isShared && !isApplied) {
      this.#set({ object, order, state: { name: 'deferred' } })
      return { status: 'applied', revision: 0 }
    }
    const failure = isInForce ? null : await this.#kinds.apply(object, value)
    if (failure && attempts === 'once') {
      await this.#restorePrevious(present?.object, object)
      return resultOf({ object, state: stateAfter(failure) })
    }
    // Fail closed: the previous object may allow more than the server now wants. A limit allows nothing.
    if (failure && isApplied && !this.#kinds.isLimit(object)) await this.#withdraw(object)
    return resultOf(this.#set({ object, order, state: stateAfter(failure) }))
  }

  /** Undoes a refused put: restores the previous object, or removes the refused one. */
  async #restorePrevious(before: SavedObject | undefined, refused: SavedObject): Promise<void> {
    if (before) await this.#load(before)
    await this.#write(() => (before ? this.#store.save(before) : this.#store.remove(refused)))
  }

  /** Applies a saved object at the start. A failure is only logged. */
  async #restore(object: SavedObject): Promise<void> {
    const failure = await this.#load(object)
    const { kind, id } = object
    if (failure)
      this.#options.log.warn('object.not_restored', failure.message, { kind, id, code: failure.code })
  }

  /** Applies an object again. Withdraws it if that fails. */
  async #reapply(object: SavedObject): Promise<void> {
    const before = this.#states.get(object)?.state
    await this.#restore(object)
    const now = this.#states.get(object)
    if (!before || !now) return
    if (reasonOf(now.state)?.code !== reasonOf(before)?.code) this.#reporter.report(now)
    if (before.name === 'applied' && now.state.name === 'failed' && !this.#kinds.isLimit(object))
      await this.#withdraw(object)
  }

  /** Takes an object out of force without deleting it. */
  async #withdraw(object: SavedObject): Promise<void> {
    await this.#kinds.withdraw(object, 'drain').catch(this.#logWithdrawFailed(object))
  }

  /** Applies a saved object. Returns the failure, or null. */
  async #load(object: SavedObject): Promise<Failure | null> {
    const failure = await this.#kinds.apply(object)
    this.#set({ object, order: this.#kinds.orderOf(object), state: stateAfter(failure) })
    return failure
  }

  /** Sets the object's state. A failed object is retried, unless no plugin owns its kind. */
  #set(present: PresentObject): PresentObject {
    const { object, state } = present
    this.#states.set(present)
    this.#retryTimers.cancel(object)
    if (state.name === 'failed' && this.#kinds.has(object.kind))
      this.#retryTimers.start(object, state.retries, () => void this.#serially(() => this.#retry(present)))
    return present
  }

  /** Retries all failed objects of the group together: they may wait for the same thing. */
  async #retry(due: PresentObject): Promise<void> {
    if (this.#states.get(due.object)?.state !== due.state) return
    await Promise.all(this.#states.failedWith(due).map(failed => this.#applyAgain(failed)))
  }

  async #applyAgain({ object, order, state }: PresentObject): Promise<void> {
    const retries = state.name === 'failed' ? state.retries + 1 : 0
    const next = this.#set({ object, order, state: stateAfter(await this.#kinds.apply(object), retries) })
    if (reasonOf(next.state)?.code !== reasonOf(state)?.code) this.#reporter.report(next)
  }

  #drop(object: Omit<SavedObject, 'bytes'>, removal: 'drain' | 'cut'): Promise<AgentApplyResult> {
    const answer = Promise.withResolvers<AgentApplyResult>()
    void this.#dropAll([{ object, removal, answer }])
    return answer.promise
  }

  /** Withdraws one after another, then deletes all with one sync of the disk. Never rejects. */
  async #dropAll(drops: Drop[]): Promise<void> {
    if (this.#drops === drops) this.#drops = null
    const withdrawn: (Drop & { readonly done: Promise<void> })[] = []
    for (const drop of drops) {
      const { object, removal, answer } = drop
      const present = this.#states.get(object)
      if (present && object.revision < present.object.revision) {
        answer.resolve(resultOf(present))
        continue
      }
      this.#retryTimers.cancel(object)
      try {
        withdrawn.push({ ...drop, ...(await this.#kinds.withdraw(object, removal)) })
      } catch (error) {
        answer.reject(error)
      }
    }
    await this.#forget(withdrawn)
  }

  async #forget(withdrawn: readonly (Drop & { readonly done: Promise<void> })[]): Promise<void> {
    try {
      await this.#write(() => this.#store.removeAll(withdrawn.map(({ object }) => object)))
    } catch (error) {
      for (const { answer } of withdrawn) answer.reject(error)
      return
    }
    for (const { object, answer, done } of withdrawn) {
      const { kind, id, revision } = object
      this.#states.delete(object)
      this.#draining.add({ kind, id, revision }, done)
      answer.resolve({ status: 'applied', revision })
    }
  }

  async #adopt(generation: string): Promise<void> {
    await this.#write(() => this.#store.adopt(generation))
    this.#draining.resetRevisions()
    this.#states.resetRevisions()
  }

  #logWithdrawFailed({ kind, id }: SavedObject) {
    return (error: unknown): void =>
      this.#options.log.error('object.withdraw_failed', `it may still be in force: ${String(error)}`, {
        kind,
        id
      })
  }
}
