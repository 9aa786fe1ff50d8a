import type { Socket } from 'node:net'
import { PairedStream } from './stream-pair.ts'

/** Closes with RST. First waits for a FIN that is being sent: libuv would otherwise keep the socket open. */
export function resetSocket(socket: Socket | PairedStream): void {
  if (socket.destroyed) return
  if (socket instanceof PairedStream) return void socket.resetAndDestroy()
  const isEnding = socket.writableEnded && !socket.writableFinished && socket.writableLength === 0
  if (isEnding) socket.once('finish', () => resetNow(socket))
  else resetNow(socket)
}

/** Closes the handle itself if libuv refuses, since the other side has reset: Node would drop it without closing it. */
function resetNow(socket: Socket): void {
  const { _handle: handle } = socket as Socket & {
    readonly _handle?: { close(done: () => void): void } | null
  }
  const onError = ({ syscall }: NodeJS.ErrnoException): void => {
    if (syscall === 'reset') handle?.close(() => socket.emit('close', true))
  }
  socket.once('error', onError)
  socket.resetAndDestroy()
}
