// Remembers the user of each credential, so that the user pays as soon as a request arrives. Callers of the same
// address that exceed its budget, for example with invalid credentials, do not delay the user.
import type { Token } from '../../../kernel/identity/entities.ts'
import type { TokenUse } from './token-use.ts'

const maxPerPayer = 8
const maxPayers = 1_000

interface Known {
  readonly payer: string
  readonly token: Token | undefined
}

/** Credentials are given by their hashes. */
export class KnownCredentials {
  readonly #tokenUse: Pick<TokenUse, 'isAllowed'>
  readonly #byPayer = new Map<string, Set<string>>() // hashes, the least recent first; the least recent payer first
  readonly #known = new Map<string, Known>() // by hash

  constructor(tokenUse: Pick<TokenUse, 'isAllowed'>) {
    this.#tokenUse = tokenUse
  }

  /**
   * Returns who paid for the last request with the credential. Undefined if it is unknown or was refused, and for a token at
   * an address that is not allowed.
   */
  payerOf(hash: string, address: string): string | undefined {
    const known = this.#known.get(hash)
    return known && this.#isAllowed(known, address) ? known.payer : undefined
  }

  /** Forgets the least recent credential of the payer, or the least recent payer, beyond the limits. */
  remember(hash: string, payer: string, token?: Token): void {
    if (this.#known.get(hash)?.payer !== payer) this.#forgetHash(hash)
    const own = this.#byPayer.get(payer) ?? new Set()
    this.#byPayer.delete(payer)
    this.#byPayer.set(payer, own)
    own.delete(hash)
    own.add(hash)
    this.#known.set(hash, { payer, token })
    const [oldest] = own
    if (own.size > maxPerPayer && oldest !== undefined) this.#forgetHash(oldest)
    const [leastRecent] = this.#byPayer
    if (this.#byPayer.size > maxPayers && leastRecent) for (const one of leastRecent[1]) this.#forgetHash(one)
  }

  /** Keeps a token that was refused at an address that is not allowed: it is valid elsewhere. */
  forget(hash: string, address: string): void {
    const known = this.#known.get(hash)
    if (known && this.#isAllowed(known, address)) this.#forgetHash(hash)
  }

  #isAllowed({ token }: Known, address: string): boolean {
    return token === undefined || this.#tokenUse.isAllowed(token, address)
  }

  #forgetHash(hash: string): void {
    const payer = this.#known.get(hash)?.payer
    if (payer === undefined) return
    this.#known.delete(hash)
    const own = this.#byPayer.get(payer)
    own?.delete(hash)
    if (own?.size === 0) this.#byPayer.delete(payer)
  }
}
