// The answers to dials that wait for the addon, and the open sockets to dialers, by the token of the dial.
import type { Duplex } from 'node:stream'
import type { DialAnswer } from '../agent/engine/dial-request.ts'
import { eventKinds, type NativeEngine, type NativeEvent } from './bridge.ts'
import { DialedSocket } from './dialed-socket.ts'

export interface DialedStreams {
  /** Passes an answer to the addon. Resolves to the dialer's end, or null. */
  answer(token: number, answer: DialAnswer): Promise<Duplex | null>
  /** Handles an event about a stream. Returns false for the other events. */
  handle(event: NativeEvent): boolean
  /** Called when the engine has stopped: no answer gets a stream any longer. */
  stop(): void
}

export function openDialedStreams(
  native: Pick<NativeEngine, 'dialed' | 'resetStream' | 'isStreamReset' | 'releaseStream'>
): DialedStreams {
  const waiting = new Map<number, (socket: Duplex | null) => void>()
  const sockets = new Map<number, DialedSocket>()

  function open(token: number, fd: number): DialedSocket {
    const socket = new DialedSocket(fd, token, native)
    sockets.set(token, socket)
    socket.once('close', () => sockets.delete(token))
    return socket
  }

  return {
    answer(token, answer) {
      if (waiting.has(token)) return Promise.resolve(null)
      const { promise, resolve } = Promise.withResolvers<Duplex | null>()
      waiting.set(token, resolve)
      native.dialed(token, answer)
      return promise
    },
    handle({ kind, value: token, otherValue: fd }) {
      if (eventKinds[kind] === 'stream-reset') sockets.get(token)?.engineReset()
      else if (eventKinds[kind] === 'dialed') {
        waiting.get(token)?.(fd < 0 ? null : open(token, fd))
        waiting.delete(token)
      } else return false
      return true
    },
    stop() {
      for (const resolve of waiting.values()) resolve(null)
      waiting.clear()
    }
  }
}
