// Where callers and the target of all rules meet: both ends of a talk are here, so that every byte can be judged.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

const mostWords = 2 ** 22
const headBytes = 4

export type Wish = 'echo' | 'upload' | 'download'

/** One connection through a rule; what each end wrote, and what the other has read of it. */
export interface Talk {
  readonly ruleId: number
  readonly wish: Wish
  readonly size: number
  readonly from: number // where in the words
  readonly said: { caller: number; target: number }
  readonly heard: { caller: number; target: number }
  isReached: boolean
  /** Of the caller's side: all was said and heard, and ended in order; or not. */
  end: 'whole' | 'broken' | null
  readonly hangUp: (who: 'caller' | 'target') => void
}

export interface Hall {
  readonly port: number
  call(to: { ruleId: number; port: number }, wish: Wish, size: number): Talk
  /** Sockets of both sides that have not closed. */
  open(): number
  /** What can be said of them. */
  living(): readonly object[]
  close(): Promise<void>
}

const sizes = (talk: Talk) => ({
  target: headBytes + (talk.wish === 'download' ? 0 : talk.size),
  caller: talk.wish === 'upload' ? 0 : talk.size
})

/** Where Node is just shutting a side it refuses, and never closes the socket: then it is left alone. */
function reset(socket: Socket): void {
  const isShutting = socket.writableEnded && socket.writableLength === 0 && !socket.writableFinished
  if (!isShutting && !socket.connecting) socket.resetAndDestroy()
}

const saidOf = (socket: Socket) => ({
  ports: [socket.localPort, socket.remotePort],
  isConnecting: socket.connecting,
  bytes: [socket.bytesRead, socket.bytesWritten, socket.writableLength],
  hasEnded: [socket.readableEnded, socket.writableEnded, socket.writableFinished, socket.destroyed]
})

/** `wrong` is told whatever may not be. */
export async function openHall(wrong: (what: string) => void): Promise<Hall> {
  const words = randomBytes(2 * mostWords)
  const talks = new Map<number, Talk>()
  const targets = new Map<Talk, Socket>()
  const sockets = new Set<Socket>()
  let lastId = 0

  const keep = (socket: Socket, ended: () => void) => {
    sockets.add(socket)
    socket.setKeepAlive(true, 1_000) // of a reset that a full queue has kept out no other comes; a probe is answered by one
    const forget = () => {
      sockets.delete(socket)
      ended()
    }
    socket.on('close', forget).on('error', forget)
  }

  /** Checks what one side hears: bytes, order, and that an end in order comes after all of them. */
  const judge = (talk: Talk, side: 'caller' | 'target', chunk: Buffer, skipped: number) => {
    const at = talk.from + talk.heard[side] - skipped
    if (!chunk.equals(words.subarray(at, at + chunk.length)))
      wrong(`${talk.wish} of rule ${talk.ruleId}: the ${side} hears other bytes after ${talk.heard[side]}`)
    talk.heard[side] += chunk.length
  }
  const atEnd = (talk: Talk, side: 'caller' | 'target') => {
    const all = sizes(talk)[side]
    if (talk.heard[side] === all) return true
    wrong(`${talk.wish} of rule ${talk.ruleId}: a FIN for the ${side} after ${talk.heard[side]} of ${all}`)
    return false
  }
  const say = (talk: Talk, side: 'caller' | 'target', socket: Socket, bytes: Buffer) => {
    talk.said[side] += bytes.length
    socket.write(bytes)
  }
  const all = (talk: Talk) => words.subarray(talk.from, talk.from + talk.size)

  const serve = (talk: Talk, socket: Socket) => {
    talk.isReached = true
    targets.set(talk, socket)
    if (talk.wish === 'download') say(talk, 'target', socket, all(talk))
    socket.on('end', () => {
      if (atEnd(talk, 'target')) socket.end()
    })
  }

  const server = createServer({ allowHalfOpen: true }, socket => {
    keep(socket, () => talk && targets.delete(talk))
    let talk: Talk | undefined
    let head = Buffer.alloc(0)
    socket.on('end', () => talk || socket.destroy()) // dialled for a caller who has left meanwhile
    socket.on('data', chunk => {
      let rest = chunk
      if (!talk) {
        head = Buffer.concat([head, chunk])
        if (head.length < headBytes) return
        talk = talks.get(head.readUInt32BE())
        if (!talk) return reset(socket) // not ours: another process of this machine
        talk.heard.target = headBytes
        rest = head.subarray(headBytes)
        serve(talk, socket)
      }
      judge(talk, 'target', rest, headBytes)
      if (talk.wish === 'echo' && rest.length > 0) say(talk, 'target', socket, rest)
    })
  })
  server.listen(0, '127.0.0.1', 4096)
  await once(server, 'listening')

  const call: Hall['call'] = ({ ruleId, port }, wish, size) => {
    const id = ++lastId
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    const talk: Talk = {
      ruleId,
      wish,
      size,
      from: (id * 7919) % mostWords,
      said: { caller: 0, target: 0 },
      heard: { caller: 0, target: 0 },
      isReached: false,
      end: null,
      hangUp(who) {
        const end = who === 'caller' ? socket : targets.get(talk)
        if (!end || talk.end !== null) return
        reset(end)
      }
    }
    talks.set(id, talk)
    keep(socket, () => {
      talk.end ??= 'broken'
      talks.delete(id)
    })
    socket.on('data', chunk => judge(talk, 'caller', chunk, 0))
    socket.on('end', () => {
      if (atEnd(talk, 'caller')) talk.end = 'whole'
      socket.destroy()
    })
    const head = Buffer.alloc(headBytes)
    head.writeUInt32BE(id)
    say(talk, 'caller', socket, head)
    if (wish !== 'download') say(talk, 'caller', socket, all(talk))
    socket.end()
    return talk
  }

  return {
    port: (server.address() as AddressInfo).port, // of a TCP server
    call,
    open: () => sockets.size,
    living: () => [...sockets].map(saidOf),
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    }
  }
}
