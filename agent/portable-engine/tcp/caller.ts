import type { Socket } from 'node:net'
import type { SocketAddress } from '../../engine/ended-connection.ts'

/** A caller and what is known of it. */
export interface Caller {
  readonly socket: Socket
  readonly source: SocketAddress
  readonly listen: SocketAddress // the local address of its socket
  readonly destination: SocketAddress | null // where it has connected, if a header says it
  readonly serverName: string // for which its TLS has asked, or empty
}

export function callerOf(socket: Socket): Caller {
  const { remoteAddress: address = '', remotePort: port = 0 } = socket
  const { localAddress = '', localPort = 0 } = socket
  const listen = { address: localAddress, port: localPort }
  return { socket, source: { address, port }, listen, destination: null, serverName: '' }
}
