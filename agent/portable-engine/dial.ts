import { connect, type Socket } from 'node:net'
import { socketOptions } from './listener.ts'

const attemptMs = 3_000
const staggerMs = 250

export interface Winner {
  readonly socket: Socket
  readonly address: string
}

/**
 * Happy eyeballs (RFC 8305): one address after the other, the next one early when an attempt is slow;
 * the first that answers wins. Null: none answered, or the signal came first.
 */
export function dial(
  addresses: readonly string[],
  port: number,
  signal: AbortSignal
): Promise<Winner | null> {
  const { promise, resolve } = Promise.withResolvers<Winner | null>()
  const attempts = new Set<Socket>()
  const rest = [...addresses]
  let stagger: NodeJS.Timeout | undefined

  const settle = (winner: Winner | null) => {
    clearTimeout(stagger)
    signal.removeEventListener('abort', abandon)
    rest.length = 0
    if (winner) attempts.delete(winner.socket)
    for (const attempt of attempts) attempt.destroy()
    resolve(winner)
  }
  const abandon = () => settle(null)

  const begin = (address: string) => {
    const attempt = connect({ host: address, port, ...socketOptions, autoSelectFamily: false })
    const limit = setTimeout(() => attempt.destroy(), attemptMs)
    const lost = () => {
      clearTimeout(limit)
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
    else if (attempts.size === 0) settle(null)
    if (rest.length > 0) stagger = setTimeout(next, staggerMs)
  }

  if (signal.aborted) return Promise.resolve(null)
  signal.addEventListener('abort', abandon)
  next()
  return promise
}
