import type { Socket } from 'node:net'
import type { SocketAddress } from '../../ended-connection.ts'

/** A caller and what is known of it. */
export interface Caller {
  readonly socket: Socket
  readonly source: SocketAddress
  readonly destination: SocketAddress | null // where it has connected, if a header says it
  readonly serverName: string // for which its TLS has asked, or empty
}

export function callerOf(socket: Socket): Caller {
  const { remoteAddress: address = '', remotePort: port = 0 } = socket
  return { socket, source: { address, port }, destination: null, serverName: '' }
}

/** Returns the local address of its socket. */
export const listenAddressOf = ({
  socket: { localAddress: address = '', localPort: port = 0 }
}: Caller): SocketAddress => ({ address, port })
