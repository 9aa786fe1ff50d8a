import type { Clock } from '../../../kernel/base/clock.ts'
import type { ApplyResult, ManagedObject, ObjectRevision } from '../../../kernel/control/managed-objects.ts'
import type { Peer } from '../../../kernel/control/peers.ts'
import { movedReason } from '../../servers/exports.ts'
import { objectKeyText } from './object-revisions.ts'

export type Change = 'push' | 'remove'

/** A committed change. A plugin waits for its result. */
export interface Expected {
  readonly object: ObjectRevision
  readonly change: Change
  /** Settles with the result, or with null when the wait has ended without one. */
  readonly result: Promise<ApplyResult | null>
  /** Ends the wait after this time, counted from now. */
  endAfter(secs: number): void
}

const unclaimedSecs = 120 // requests end earlier

interface Wait extends Expected {
  readonly settle: (result: ApplyResult | null) => void
}

/**
 * The changes that wait for a result of an agent. A change is settled by the first result of exactly its revision, or of
 * a later one that replaced it, and never by an earlier one.
 */
export class PendingResults {
  readonly #waits = new Map<string, Set<Wait>>()
  readonly #clock: Pick<Clock, 'after'>

  constructor(clock: Pick<Clock, 'after'>) {
    this.#clock = clock
  }

  /** Call it at the commit of the change. The wait ends with the stream, unless the agent has a new stream. */
  expect(object: ObjectRevision, change: Change, { ended }: Peer): Expected {
    const { promise, resolve } = Promise.withResolvers<ApplyResult | null>()
    const giveUp = (): void => resolve(null)
    const onEnd = (): void => {
      if (ended.reason !== movedReason) giveUp()
    }
    const key = objectKeyText(object)
    let cancel = this.#clock.after(unclaimedSecs * 1000, giveUp)
    if (ended.aborted) onEnd()
    ended.addEventListener('abort', onEnd, { once: true })
    const result = promise.finally(() => {
      cancel()
      ended.removeEventListener('abort', onEnd)
      this.#leave(key, wait)
    })
    const endAfter = (secs: number): void => {
      cancel()
      cancel = this.#clock.after(secs * 1000, giveUp)
    }
    const wait: Wait = { object, change, result, endAfter, settle: resolve }
    this.#waits.set(key, (this.#waits.get(key) ?? new Set()).add(wait))
    return wait
  }

  /** Returns the changes that wait for an earlier revision of the object. */
  earlier({ revision, ...object }: ObjectRevision): readonly Expected[] {
    return [...(this.#waits.get(objectKeyText(object)) ?? [])].filter(wait => wait.object.revision < revision)
  }

  /** A removal settles earlier pushes of the object, too. */
  recorded(row: ManagedObject, result: ApplyResult): void {
    this.end(row, 'push', row.removal === null ? result : { status: 'removed' })
    if (row.removal !== null) this.end(row, 'remove', result)
  }

  /** Settles the changes up to this revision. */
  end(object: ObjectRevision, change: Change, result: ApplyResult): void {
    for (const wait of this.#waits.get(objectKeyText(object)) ?? [])
      if (wait.change === change && wait.object.revision <= object.revision) wait.settle(result)
  }

  #leave(key: string, wait: Wait): void {
    const others = this.#waits.get(key)
    others?.delete(wait)
    if (others?.size === 0) this.#waits.delete(key)
  }
}
