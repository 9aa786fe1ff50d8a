// Callers, and the target of all rules. Both ends of each transfer are in this process, which checks every byte.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

const maxTransferBytes = 2 ** 22
const headerBytes = 4 // the number of the transfer

export type TransferKind = 'echo' | 'upload' | 'download'
type Side = 'caller' | 'target'

/** One connection through a rule, with the bytes that each side has written and read. */
export interface Transfer {
  readonly ruleId: number
  readonly kind: TransferKind
  readonly size: number
  readonly from: number // offset in the payload
  readonly sent: { caller: number; target: number }
  readonly received: { caller: number; target: number }
  isConnected: boolean
  /** On the caller's side. 'whole': FIN arrived after all bytes. */
  end: 'whole' | 'broken' | null
  readonly hangUp: (side: Side) => void
}

export interface Traffic {
  readonly port: number
  start(to: { ruleId: number; port: number }, kind: TransferKind, size: number): Transfer
  /** Counts the open sockets of both sides. */
  openSockets(): number
  /** Describes the open sockets, for the error text of a timeout. */
  describeOpen(): readonly object[]
  close(): Promise<void>
}

/** Returns the total number of bytes for each side. */
const sizes = (transfer: Transfer) => ({
  target: headerBytes + (transfer.kind === 'download' ? 0 : transfer.size),
  caller: transfer.kind === 'upload' ? 0 : transfer.size
})

/**
 * Does nothing while the socket connects, or while Node shuts it down: then the reset would fail and the socket would
 * never close.
 */
function reset(socket: Socket): void {
  const isShutting = socket.writableEnded && socket.writableLength === 0 && !socket.writableFinished
  if (!isShutting && !socket.connecting) socket.resetAndDestroy()
}

const describe = (socket: Socket) => ({
  ports: [socket.localPort, socket.remotePort],
  isConnecting: socket.connecting,
  bytes: [socket.bytesRead, socket.bytesWritten, socket.writableLength],
  hasEnded: [socket.readableEnded, socket.writableEnded, socket.writableFinished, socket.destroyed]
})

/** Tracks the open sockets. */
function trackSockets() {
  const open = new Set<Socket>()
  const track = (socket: Socket, ended: () => void) => {
    open.add(socket)
    socket.setKeepAlive(true, 1_000) // a RST lost in a full queue is not repeated; a keepalive probe triggers another one
    const remove = () => {
      open.delete(socket)
      ended()
    }
    socket.on('close', remove).on('error', remove)
  }
  return { open, track }
}

/** Sends parts of a random payload and checks what arrives. Calls `fail` with each violation. */
function openPayload(fail: (what: string) => void) {
  const payload = randomBytes(2 * maxTransferBytes)
  return {
    of: ({ from, size }: Transfer) => payload.subarray(from, from + size),
    send(transfer: Transfer, side: Side, socket: Socket, bytes: Buffer) {
      transfer.sent[side] += bytes.length
      socket.write(bytes)
    },
    /** Checks the bytes that one side receives, and their order. */
    check({ kind, ruleId, from, received }: Transfer, side: Side, chunk: Buffer, skipped: number) {
      const at = from + received[side] - skipped
      if (!chunk.equals(payload.subarray(at, at + chunk.length)))
        fail(`${kind} of rule ${ruleId}: the ${side} received wrong bytes after ${received[side]}`)
      received[side] += chunk.length
    },
    /** Checks at a FIN that all bytes have arrived. */
    isComplete(transfer: Transfer, side: Side) {
      const { kind, ruleId, received } = transfer
      const all = sizes(transfer)[side]
      if (received[side] === all) return true
      fail(`${kind} of rule ${ruleId}: a FIN for the ${side} after ${received[side]} of ${all}`)
      return false
    }
  }
}

interface TrafficState {
  readonly transfers: Map<number, Transfer>
  readonly targets: Map<Transfer, Socket>
  readonly sockets: ReturnType<typeof trackSockets>
  readonly payload: ReturnType<typeof openPayload>
}

/** Opens the target of all transfers. */
async function openTarget({ transfers, targets, sockets, payload }: TrafficState): Promise<Server> {
  const serve = (transfer: Transfer, socket: Socket) => {
    transfer.isConnected = true
    targets.set(transfer, socket)
    if (transfer.kind === 'download') payload.send(transfer, 'target', socket, payload.of(transfer))
    socket.on('end', () => {
      if (payload.isComplete(transfer, 'target')) socket.end()
    })
  }
  const server = createServer({ allowHalfOpen: true }, socket => {
    sockets.track(socket, () => transfer && targets.delete(transfer))
    let transfer: Transfer | undefined
    let header = Buffer.alloc(0)
    socket.on('end', () => transfer || socket.destroy()) // dialed for a caller that has already left
    socket.on('data', chunk => {
      let rest = chunk
      if (!transfer) {
        header = Buffer.concat([header, chunk])
        if (header.length < headerBytes) return
        transfer = transfers.get(header.readUInt32BE())
        if (!transfer) return reset(socket) // from another process of this machine
        transfer.received.target = headerBytes
        rest = header.subarray(headerBytes)
        serve(transfer, socket)
      }
      payload.check(transfer, 'target', rest, headerBytes)
      if (transfer.kind === 'echo' && rest.length > 0) payload.send(transfer, 'target', socket, rest)
    })
  })
  server.listen(0, '127.0.0.1', 4096)
  await once(server, 'listening')
  return server
}

/** Calls `fail` with each violation. */
export async function openTraffic(fail: (what: string) => void): Promise<Traffic> {
  const sockets = trackSockets()
  const payload = openPayload(fail)
  const transfers = new Map<number, Transfer>()
  const targets = new Map<Transfer, Socket>()
  const server = await openTarget({ transfers, targets, sockets, payload })
  let lastId = 0

  const start: Traffic['start'] = ({ ruleId, port }, kind, size) => {
    const id = ++lastId
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    const transfer: Transfer = {
      ruleId,
      kind,
      size,
      from: (id * 7919) % maxTransferBytes,
      sent: { caller: 0, target: 0 },
      received: { caller: 0, target: 0 },
      isConnected: false,
      end: null,
      hangUp(side) {
        const end = side === 'caller' ? socket : targets.get(transfer)
        if (end && transfer.end === null) reset(end)
      }
    }
    transfers.set(id, transfer)
    sockets.track(socket, () => {
      transfer.end ??= 'broken'
      transfers.delete(id)
    })
    socket.on('data', chunk => payload.check(transfer, 'caller', chunk, 0))
    socket.on('end', () => {
      if (payload.isComplete(transfer, 'caller')) transfer.end = 'whole'
      socket.destroy()
    })
    const header = Buffer.alloc(headerBytes)
    header.writeUInt32BE(id)
    payload.send(transfer, 'caller', socket, header)
    if (kind !== 'download') payload.send(transfer, 'caller', socket, payload.of(transfer))
    socket.end()
    return transfer
  }

  return {
    port: (server.address() as AddressInfo).port, // a TCP address
    start,
    openSockets: () => sockets.open.size,
    describeOpen: () => [...sockets.open].map(describe),
    async close() {
      for (const socket of sockets.open) socket.destroy()
      server.close()
      await once(server, 'close')
    }
  }
}
