import type { Socket } from 'node:net'

/** Closes with RST. While the FIN is on its way to the kernel it waits: libuv would keep such a socket open. */
export function resetSocket(socket: Socket): void {
  if (socket.destroyed) return
  const isEnding = socket.writableEnded && !socket.writableFinished && socket.writableLength === 0
  if (isEnding) socket.once('finish', () => resetNow(socket))
  else resetNow(socket)
}

/** libuv refuses to reset a socket that its peer has reset unnoticed. Node then drops it without closing the handle. */
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
