// The secret that makes the first superadmin. It is in memory only, as a hash, and in clear until somebody takes it.
import type { Clock } from '../../kernel/base/clock.ts'
import { hashOf, isSame, newSecret } from '../../kernel/identity/secret.ts'

const lifeMs = 30 * 60_000

export class SetupToken {
  readonly #clock: Pick<Clock, 'monotonic'>
  #current: { readonly hash: string; readonly expiresAt: number } | null = null
  #untold: string | null = null

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  /** Returns a new one; the one before it ends. */
  make(): string {
    const secret = newSecret()
    this.#untold = secret
    this.#current = { hash: hashOf(secret), expiresAt: this.#clock.monotonic() + lifeMs }
    return secret
  }

  /** Returns it once; null: it was taken, or there is none. */
  take(): string | null {
    const secret = this.#untold
    this.#untold = null
    return secret
  }

  isValid(candidate: string): boolean {
    const current = this.#current
    return (
      current !== null &&
      isSame(hashOf(candidate), current.hash) &&
      this.#clock.monotonic() < current.expiresAt
    )
  }

  end(): void {
    this.#current = null
    this.#untold = null
  }
}
