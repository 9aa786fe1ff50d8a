import type { Socket } from 'node:net'

const maxEarlyBytes = 64 * 1024
/** FIN without a byte may be a half-close, if an odd one: a dial that is quick still serves it. */
const silentEndMs = 1_000

/** What the caller said before there was anybody to say it to. */
export interface Early {
  readonly chunks: readonly Buffer[]
  readonly hasEnded: boolean
}

export interface Lobby {
  /** Nothing is read any more; the caller stands paused. */
  leave(): Early
}

/**
 * Reads a caller while it waits for its target, since only who reads sees it leave. `onLeft`: reset, or ended
 * without a byte. Who sent bytes and FIN may be half-closed, waits for the answer, and has not left.
 */
export function enterLobby(caller: Socket, onLeft: () => void): Lobby {
  const chunks: Buffer[] = []
  let bytes = 0
  let hasEnded = false
  let silentEnd: NodeJS.Timeout | undefined

  const onData = (chunk: Buffer) => {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes >= maxEarlyBytes) caller.pause()
  }
  const onEnd = () => {
    hasEnded = true
    if (bytes === 0) silentEnd = setTimeout(onLeft, silentEndMs)
  }
  caller.on('data', onData)
  caller.once('end', onEnd)
  caller.once('close', onLeft)
  caller.resume()

  return {
    leave() {
      clearTimeout(silentEnd)
      caller.off('data', onData).off('end', onEnd).off('close', onLeft).pause()
      return { chunks, hasEnded }
    }
  }
}
