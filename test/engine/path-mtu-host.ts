// node path-mtu-host.ts: the caller and the target of path-mtu.ts, in a network namespace behind a router.
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv6 } from 'node:net'

export interface Request {
  readonly targets?: readonly string[] // addresses on which to echo
  readonly send?: { readonly to: string; readonly port: number; readonly sizes: readonly number[] }
}
/** The sizes of the datagrams that came back, or the port of the targets. */
export type Reply = { readonly answered: number[] } | { readonly targetPort: number }

const targetPort = 7_000
const open = (address: string): Socket => createSocket(isIPv6(address) ? 'udp6' : 'udp4')
const reply = (message: Reply): void => void process.send?.(message)

async function openTarget(address: string): Promise<void> {
  const socket = open(address).bind(targetPort, address)
  socket.on('message', (bytes, { port, address }) => socket.send(bytes, port, address))
  await once(socket, 'listening')
}

/** Sends datagrams of these sizes, and one of a byte behind them until it is back. Reports the other answers. */
function exchange({ to, port, sizes }: NonNullable<Request['send']>): void {
  const socket = open(to)
  const answered: number[] = []
  socket.on('message', ({ length }) => {
    answered.push(length)
    if (length > 1) return
    clearInterval(ticks)
    socket.close()
    reply({ answered: answered.slice(0, -1) })
  })
  for (const size of [...sizes, 1]) socket.send(Buffer.alloc(size), port, to)
  const ticks = setInterval(() => socket.send(Buffer.alloc(1), port, to), 500)
}

process.on('message', async ({ targets, send }: Request) => {
  if (targets) {
    for (const address of targets) await openTarget(address)
    reply({ targetPort })
  }
  if (send) exchange(send)
})
