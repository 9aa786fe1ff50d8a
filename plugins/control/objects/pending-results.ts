import type { Clock } from '../../../kernel/base/clock.ts'
import type { ApplyResult, ManagedObject, ObjectKey } from '../../../kernel/control/managed-objects.ts'
import type { Peer } from '../../../kernel/control/peers.ts'
import { movedReason } from '../../servers/exports.ts'

export type Change = 'push' | 'remove'

/** Lets plugins wait for an agent's next result for an object. Several may wait for the same one. */
export class PendingResults {
  readonly #waits = new Map<string, Set<(result: ApplyResult | null) => void>>()
  readonly #clock: Pick<Clock, 'after'>

  constructor(clock: Pick<Clock, 'after'>) {
    this.#clock = clock
  }

  /** Waits for the next result. Returns null after the time-out or when the stream ends, unless the agent has a new stream. */
  next(object: ObjectKey, change: Change, { ended }: Peer, timeoutSecs: number): Promise<ApplyResult | null> {
    if (ended.aborted) return Promise.resolve(null)
    const { promise, resolve } = Promise.withResolvers<ApplyResult | null>()
    const key = keyOf(object, change)
    const giveUp = (): void => resolve(null)
    const cancel = this.#clock.after(timeoutSecs * 1000, giveUp)
    const onEnd = (): void => {
      if (ended.reason !== movedReason) giveUp()
    }
    ended.addEventListener('abort', onEnd, { once: true })
    this.#waits.set(key, (this.#waits.get(key) ?? new Set()).add(resolve))
    return promise.finally(() => {
      cancel()
      ended.removeEventListener('abort', onEnd)
      this.#leave(key, resolve)
    })
  }

  /** A removal ends the waits for pushes of the object, too. */
  recorded(row: ManagedObject, result: ApplyResult): void {
    this.end(row, 'push', row.removal === null ? result : { status: 'removed' })
    if (row.removal !== null) this.end(row, 'remove', result)
  }

  end(object: ObjectKey, change: Change, result: ApplyResult): void {
    for (const resolve of this.#waits.get(keyOf(object, change)) ?? []) resolve(result)
  }

  #leave(key: string, resolve: (result: ApplyResult | null) => void): void {
    const others = this.#waits.get(key)
    others?.delete(resolve)
    if (others?.size === 0) this.#waits.delete(key)
  }
}

const keyOf = ({ clientId, kind, id }: ObjectKey, change: Change): string =>
  `${change} ${clientId} ${kind} ${id}`
