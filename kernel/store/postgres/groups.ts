// Groups waiting changes into one transaction with one sync. No change counts as made before the sync.
import { AsyncResource } from 'node:async_hooks'
import { setTimeout as after } from 'node:timers/promises'
import { enqueue, isOfOther, type Waiting } from '../fair-order.ts'
import { conflict, faultOf, isConflict, isLost } from './failures.ts'
import { type Group, Transaction } from './transaction.ts'

const maxChanges = 8 // per group: the first waits for the last, and a conflict with a peer rolls all back
const joinMs = 20 // later changes of other payers join the next group
const maxRepeats = 5

interface Change {
  readonly run: (group: Group) => Promise<() => void> // resolves with a function that answers the caller
  readonly fail: (error: unknown) => void
}

interface Options {
  readonly begin: () => Promise<Group>
  readonly revoked: (group: Group) => Promise<() => void> // called before the commit of a group with revocations; returns a call for after it
  readonly ended: (group: Group) => void // called before the changes are answered; the group may be on disk
}

/** Makes one change on an exclusive connection, and retries after conflicts. */
export async function changeOn<T>(
  begin: () => Group,
  work: (transaction: Transaction) => Promise<T>
): Promise<T> {
  for (let repeats = 0; ; repeats++) {
    const group = begin()
    try {
      const result = await new Transaction(group).whole(work)
      await group.commit()
      return result
    } catch (thrown) {
      const error = await group.rollback(thrown)
      if (!isConflict(error) || repeats === maxRepeats) throw error
      await rest(repeats)
    }
  }
}

/** Backs off with jitter, so that two writers do not conflict again. */
const rest = (repeats: number): Promise<void> => after(Math.random() * 20 * 2 ** repeats)

export class Groups {
  readonly #options: Options
  readonly #waiting: Waiting<Change>[] = [] // the first one runs
  #wasLate = false // the last group was not over in time for further changes
  running: Promise<void> | null = null // the current group; set here only
  readonly payers = new Set<string>() // of the current group; changed here only

  constructor(options: Options) {
    this.#options = options
  }

  /** Resolves once the change is on disk. A change that throws is rolled back alone; after a conflict it is retried. */
  change<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const fail = (error: unknown): void => reject(faultOf(error))
    const inContext = AsyncResource.bind(work) // of the caller, not of the first change of the group
    const run = (group: Group) =>
      new Transaction(group).whole(inContext).then(
        result => () => resolve(result),
        error => () => fail(error)
      )
    enqueue(this.#waiting, { run, fail })
    if (!this.running) void this.#runAll()
    return promise
  }

  async #runAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      this.running = this.#make(this.#waiting)
      await this.running
      this.payers.clear()
    }
    this.running = null
  }

  /** Makes changes, and those that join, in one transaction. After a conflict, retries each in a separate one. Never rejects. */
  async #make(waiting: Waiting<Change>[], repeats = 0): Promise<void> {
    const { begin, revoked, ended } = this.#options
    const group = await begin().catch((error: unknown) => {
      for (const { fail } of [...waiting.splice(0), ...this.#waiting.splice(0)]) fail(error) // they would fail as well
    })
    if (!group) return
    const changes: Waiting<Change>[] = []
    try {
      const tells: (() => void)[] = []
      const joinUntil = performance.now() + joinMs
      for (let isOver = false; !isOver && changes.length < maxChanges; ) {
        const [change] = waiting
        if (!change) break
        changes.push(change)
        this.payers.add(change.payer)
        tells.push(await change.run(group))
        waiting.shift()
        if (group.failure !== null) throw group.failure
        const isLate = performance.now() > joinUntil
        isOver = (isLate || this.#wasLate) && isOfOther(this.payers, waiting[0])
      }
      this.#wasLate = performance.now() > joinUntil
      const committed = group.revoked.length > 0 ? await revoked(group) : null
      await group.commit()
      committed?.()
      ended(group)
      for (const tell of tells) tell()
    } catch (thrown) {
      const error = await group.rollback(thrown)
      ended(group)
      const isAgain = isConflict(error) || (changes.length > 1 && !isLost(error))
      if (isAgain && repeats < maxRepeats) {
        await rest(repeats)
        for (const change of changes) await this.#make([change], repeats + 1)
      } else for (const { fail } of changes) fail(isConflict(error) ? conflict(error) : error)
    }
  }
}
