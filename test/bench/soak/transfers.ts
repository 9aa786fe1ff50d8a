// Callers, and the target of all rules. Both ends of each transfer are in this process, so every byte can be checked.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

const maxTransferBytes = 2 ** 22
const headBytes = 4

export type TransferKind = 'echo' | 'upload' | 'download'

/** One connection through a rule: how many bytes each side wrote, and how many the other side has read. */
export interface Transfer {
  readonly ruleId: number
  readonly kind: TransferKind
  readonly size: number
  readonly from: number // offset in the payload
  readonly sent: { caller: number; target: number }
  readonly received: { caller: number; target: number }
  isConnected: boolean
  /** On the caller's side. 'whole': all bytes were transferred, and FIN came after them. */
  end: 'whole' | 'broken' | null
  readonly hangUp: (side: 'caller' | 'target') => void
}

export interface Traffic {
  readonly port: number
  start(to: { ruleId: number; port: number }, kind: TransferKind, size: number): Transfer
  /** Counts the open sockets of both sides. */
  openSockets(): number
  /** Describes them, for the error text of a timeout. */
  describeOpen(): readonly object[]
  close(): Promise<void>
}

const sizes = (transfer: Transfer) => ({
  target: headBytes + (transfer.kind === 'download' ? 0 : transfer.size),
  caller: transfer.kind === 'upload' ? 0 : transfer.size
})

/** Does nothing while Node is shutting one side down: the reset would fail, and the socket would never close. */
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

/** Calls `fail` with each violation. */
export async function openTraffic(fail: (what: string) => void): Promise<Traffic> {
  const payload = randomBytes(2 * maxTransferBytes)
  const transfers = new Map<number, Transfer>()
  const targets = new Map<Transfer, Socket>()
  const sockets = new Set<Socket>()
  let lastId = 0

  const keep = (socket: Socket, ended: () => void) => {
    sockets.add(socket)
    socket.setKeepAlive(true, 1_000) // a RST that a full queue dropped is not sent again; a keepalive probe gets another
    const remove = () => {
      sockets.delete(socket)
      ended()
    }
    socket.on('close', remove).on('error', remove)
  }

  /** Checks the bytes that one side receives, and their order. */
  const check = (transfer: Transfer, side: 'caller' | 'target', chunk: Buffer, skipped: number) => {
    const at = transfer.from + transfer.received[side] - skipped
    if (!chunk.equals(payload.subarray(at, at + chunk.length)))
      fail(
        `${transfer.kind} of rule ${transfer.ruleId}: the ${side} received wrong bytes after ${transfer.received[side]}`
      )
    transfer.received[side] += chunk.length
  }
  const atEnd = (transfer: Transfer, side: 'caller' | 'target') => {
    const all = sizes(transfer)[side]
    if (transfer.received[side] === all) return true
    fail(
      `${transfer.kind} of rule ${transfer.ruleId}: a FIN for the ${side} after ${transfer.received[side]} of ${all}`
    )
    return false
  }
  const send = (transfer: Transfer, side: 'caller' | 'target', socket: Socket, bytes: Buffer) => {
    transfer.sent[side] += bytes.length
    socket.write(bytes)
  }
  const all = (transfer: Transfer) => payload.subarray(transfer.from, transfer.from + transfer.size)

  const serve = (transfer: Transfer, socket: Socket) => {
    transfer.isConnected = true
    targets.set(transfer, socket)
    if (transfer.kind === 'download') send(transfer, 'target', socket, all(transfer))
    socket.on('end', () => {
      if (atEnd(transfer, 'target')) socket.end()
    })
  }

  const server = createServer({ allowHalfOpen: true }, socket => {
    keep(socket, () => transfer && targets.delete(transfer))
    let transfer: Transfer | undefined
    let head = Buffer.alloc(0)
    socket.on('end', () => transfer || socket.destroy()) // dialed for a caller that has left meanwhile
    socket.on('data', chunk => {
      let rest = chunk
      if (!transfer) {
        head = Buffer.concat([head, chunk])
        if (head.length < headBytes) return
        transfer = transfers.get(head.readUInt32BE())
        if (!transfer) return reset(socket) // from another process of this machine
        transfer.received.target = headBytes
        rest = head.subarray(headBytes)
        serve(transfer, socket)
      }
      check(transfer, 'target', rest, headBytes)
      if (transfer.kind === 'echo' && rest.length > 0) send(transfer, 'target', socket, rest)
    })
  })
  server.listen(0, '127.0.0.1', 4096)
  await once(server, 'listening')

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
        if (!end || transfer.end !== null) return
        reset(end)
      }
    }
    transfers.set(id, transfer)
    keep(socket, () => {
      transfer.end ??= 'broken'
      transfers.delete(id)
    })
    socket.on('data', chunk => check(transfer, 'caller', chunk, 0))
    socket.on('end', () => {
      if (atEnd(transfer, 'caller')) transfer.end = 'whole'
      socket.destroy()
    })
    const head = Buffer.alloc(headBytes)
    head.writeUInt32BE(id)
    send(transfer, 'caller', socket, head)
    if (kind !== 'download') send(transfer, 'caller', socket, all(transfer))
    socket.end()
    return transfer
  }

  return {
    port: (server.address() as AddressInfo).port, // of a TCP server
    start,
    openSockets: () => sockets.size,
    describeOpen: () => [...sockets].map(describe),
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    }
  }
}
