import type { Socket } from 'node:net'

/** A FIN without any byte before it may be an unusual half-close: a quick dial still serves it. */
const silentEndMs = 1_000

/**
 * Watches a caller while its target is dialed. Only a socket that is read reports its end; the bytes stay in its buffer.
 * Calls `onLeft` when the caller resets, or sends FIN and nothing else. Bytes and FIN may be a half-close: that caller
 * waits for the answer. Returns the call that ends the watch.
 */
export function watchPendingCaller(caller: Socket, onLeft: () => void): () => void {
  let silentEnd: NodeJS.Timeout | undefined

  const onReadable = () => {
    if (caller.readableLength === 0) caller.read(0) // at the end: makes Node emit 'end'
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
