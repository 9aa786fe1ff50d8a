// A body of 1 MiB costs memory and milliseconds of the event loop before it can be refused. Each payer sends two at a time.
import type { ServerResponse } from 'node:http'
import type { Clock } from '../../../kernel/base/clock.ts'
import { Fault, rateLimited } from '../../../kernel/base/errors.ts'
import { defaultBodyBytes } from '../request/body-limit.ts'
import { onceClosed, type RequestContext } from '../request/request-context.ts'

const maxOpen = 2
const maxWaitMs = 15_000 // the whole request must arrive within 30 s
const retryAfterSecs = 5

interface Payer {
  open: number // requests with bodies that may be read, until they are answered
  readonly waiting: Set<() => void> // the next one first
}

export class LargeBodies {
  readonly #clock: Pick<Clock, 'after'>
  readonly #payers = new Map<string, Payer>()

  constructor(clock: Pick<Clock, 'after'>) {
    this.#clock = clock
  }

  /**
   * Resolves when the body may be read. Rejects with `rate_limited` after 15 s. Never resolves if the caller disconnects.
   */
  enter(key: string, response: ServerResponse): Promise<void> {
    return new Promise((resolve, reject) => {
      if (response.closed) return
      const payer = this.#payers.get(key) ?? { open: 0, waiting: new Set() }
      this.#payers.set(key, payer)
      const stopWaiting = (): void => {
        payer.waiting.delete(proceed)
        void cancelRefusal()
      }
      let leave = stopWaiting
      const proceed = (): void => {
        stopWaiting()
        payer.open++
        leave = () => this.#leave(key, payer)
        resolve()
      }
      const cancelRefusal = this.#clock.after(maxWaitMs, () => {
        payer.waiting.delete(proceed)
        reject(tooMany())
      })
      onceClosed(response, () => leave())
      if (payer.open < maxOpen) proceed()
      else payer.waiting.add(proceed)
    })
  }

  #leave(key: string, payer: Payer): void {
    payer.open--
    const [proceed] = payer.waiting
    if (proceed) proceed()
    else if (payer.open === 0) this.#payers.delete(key)
  }
}

/** True for a body that is, or without a length can be, larger than most routes take, and not too large for its own. */
export function isLarge({ headers }: RequestContext['requestInfo'], limit: number): boolean {
  const bytes = Number(headers['content-length'] ?? limit)
  return bytes > defaultBodyBytes && bytes <= limit
}

const tooMany = (): Fault =>
  new Fault(
    rateLimited,
    `${maxOpen} requests with bodies above 64 KiB are in work for you; send the next when one of them is answered`,
    { details: { retry_after_secs: retryAfterSecs } }
  )
