import type { Caller } from './caller.ts'

/** A FIN without data may be a half-close: the dial still has this long to succeed. */
const silentEndMs = 1_000

/**
 * Watches a caller while its target is dialed. Calls `onLeft` when it resets, or sends FIN without data; a FIN after
 * data is a half-close: the caller waits for the answer. Reads, since only then Node reports the end; the bytes stay in
 * the socket's buffer. Returns a function that ends the watch.
 */
export function watchPendingCaller(
  { socket: caller, early }: Pick<Caller, 'socket' | 'early'>,
  onLeft: () => void
): () => void {
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
  if (caller.readableEnded && !early?.length) onEnd()

  return () => {
    clearTimeout(silentEnd)
    caller.off('readable', onReadable).off('end', onEnd).off('close', onLeft)
  }
}
