import { connect, type Socket } from 'node:net'
import { socketOptions } from './tcp-listener.ts'

const attemptMs = 3_000
const staggerMs = 250

export interface Winner {
  readonly socket: Socket
  readonly address: string
}

/** Why no address answered: 'refused', 'timeout', 'unreachable', 'reset'; null when nothing was learnt of it. */
export interface Loss {
  readonly failure: string | null
}

/**
 * Happy eyeballs (RFC 8305): one address after the other, the next one early when an attempt is slow;
 * the first that answers wins. None answered: what the first said. The signal ends it.
 */
export function dial(
  addresses: readonly string[],
  port: number,
  signal: AbortSignal
): Promise<Winner | Loss> {
  const { promise, resolve } = Promise.withResolvers<Winner | Loss>()
  const attempts = new Set<Socket>()
  const rest = [...addresses]
  let stagger: NodeJS.Timeout | undefined
  let failure: string | null = null

  const settle = (outcome: Winner | Loss) => {
    clearTimeout(stagger)
    signal.removeEventListener('abort', abandon)
    rest.length = 0
    if ('socket' in outcome) attempts.delete(outcome.socket)
    for (const attempt of attempts) attempt.destroy()
    resolve(outcome)
  }
  const abandon = () => settle({ failure: null })

  const begin = (address: string) => {
    const attempt = connect({ host: address, port, ...socketOptions, autoSelectFamily: false })
    const limit = setTimeout(() => attempt.destroy(), attemptMs)
    const lost = () => {
      clearTimeout(limit)
      failure ??= attempt.errored ? reasonOf(attempt.errored) : 'timeout'
      if (attempts.delete(attempt)) next()
    }
    attempts.add(attempt)
    attempt.on('error', () => {}) // 'close' follows, and tells enough
    attempt.once('close', lost)
    attempt.once('connect', () => {
      clearTimeout(limit)
      attempt.off('close', lost)
      settle({ socket: attempt, address })
    })
  }
  const next = () => {
    clearTimeout(stagger)
    const address = rest.shift()
    if (address !== undefined) begin(address)
    else if (attempts.size === 0) settle({ failure })
    if (rest.length > 0) stagger = setTimeout(next, staggerMs)
  }

  if (signal.aborted) return Promise.resolve({ failure: null })
  signal.addEventListener('abort', abandon)
  next()
  return promise
}

/** What a failed dial says of the target. Null: nothing, it is our own trouble. */
export function reasonOf({ code = '' }: NodeJS.ErrnoException): string | null {
  if (['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL'].includes(code)) return null
  if (code === 'ECONNREFUSED') return 'refused'
  if (code === 'ECONNRESET') return 'reset'
  return code === 'ETIMEDOUT' ? 'timeout' : 'unreachable'
}
