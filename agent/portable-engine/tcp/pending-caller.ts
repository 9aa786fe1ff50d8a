import type { Socket } from 'node:net'

/** FIN without a byte may be a half-close, if an odd one: a dial that is quick still serves it. */
const silentEndMs = 1_000

/**
 * Listens to a caller while it waits for its target, since only who reads sees it leave; what it says stays in its
 * buffer. `onLeft`: reset, or ended without a byte. Who sent bytes and FIN may be half-closed, waits for the answer,
 * and has not left. Gives the call that ends the waiting.
 */
export function enterLobby(caller: Socket, onLeft: () => void): () => void {
  let silentEnd: NodeJS.Timeout | undefined

  const onReadable = () => {
    if (caller.readableLength === 0) caller.read(0) // it has ended: says so
  }
  const onEnd = () => {
    silentEnd = setTimeout(onLeft, silentEndMs)
  }
  caller.on('readable', onReadable)
  caller.once('end', onEnd)
  caller.once('close', onLeft)

  return () => {
    clearTimeout(silentEnd)
    caller.off('readable', onReadable).off('end', onEnd).off('close', onLeft)
  }
}
