import type { Socket } from 'node:net'

/** Closes a TCP socket with RST, if libuv can send one: else without. */
export function resetSocket(socket: Socket): void {
  if (socket.destroyed) return
  const isEnding = socket.writableEnded && !socket.writableFinished && socket.writableLength === 0
  if (isEnding) socket.once('finish', () => resetNow(socket))
  else resetNow(socket)
}

/** Closes the handle itself if libuv refuses, since the peer has reset or a FIN is under way: Node would leak it. */
function resetNow(socket: Socket): void {
  const { _handle: handle } = socket as Socket & {
    readonly _handle?: { close(done: () => void): void } | null
  }
  socket.once('error', ({ syscall }: NodeJS.ErrnoException) => {
    if (syscall === 'reset') handle?.close(() => socket.emit('close', true))
  })
  socket.resetAndDestroy()
}
