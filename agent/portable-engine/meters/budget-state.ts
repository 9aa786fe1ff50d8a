// What is left of a budget: neither delivered nor on its way. At zero it shuts, and holds who is inside.
import type { Budget } from '../../engine.ts'
import { longestTimerMs } from '../tcp/relay.ts'
import type { Guest } from './meter.ts'
import type { Waiter } from './token-bucket.ts'

interface Owner {
  /** Delivered so far. */
  total(): number
  onEmpty(): void
  readonly guests: ReadonlySet<Guest>
}

export interface Reserve {
  set(budget: Budget | null): void
  isEmpty(): boolean
  left(): number
  /** What of `want` is left; 0: it stands in line and is called. */
  offer(want: number, waiter: Waiter): number
  leave(waiter: Waiter): void
  take(bytes: number): void
  /** Of what was taken; `total` has it already. */
  delivered(bytes: number): void
  giveBack(bytes: number): void
}

export function openReserve({ total, onEmpty, guests }: Owner): Reserve {
  const line = new Set<Waiter>()
  let budget: Budget | null = null
  let reserved = 0
  let hold: NodeJS.Timeout | null = null // while it is empty, also when it has fired

  const left = () =>
    budget ? Math.max(0, Math.floor(budget.mark - total() - reserved)) : Number.POSITIVE_INFINITY
  const callUp = () => {
    for (const waiter of [...line]) {
      if (left() === 0) return
      if (line.delete(waiter)) waiter()
    }
  }
  const shutWhenSpent = () => {
    if (!budget || hold || total() < budget.mark) return
    const cutAll = () => {
      for (const guest of [...guests]) guest.cut()
    }
    hold = setTimeout(cutAll, Math.min(budget.holdMs, longestTimerMs))
    onEmpty()
  }

  return {
    left,
    isEmpty: () => hold !== null,
    set(next) {
      budget = next
      if (hold && (!next || total() < next.mark)) {
        clearTimeout(hold)
        hold = null
      }
      shutWhenSpent()
      callUp()
    },
    offer(want, waiter) {
      const most = Math.min(want, left())
      if (most === 0) line.add(waiter)
      return most
    },
    take(bytes) {
      reserved += bytes
    },
    delivered(bytes) {
      reserved -= bytes
      shutWhenSpent()
    },
    giveBack(bytes) {
      reserved -= bytes
      callUp()
    },
    leave: waiter => void line.delete(waiter)
  }
}
