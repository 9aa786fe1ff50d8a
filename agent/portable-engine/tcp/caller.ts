import type { Socket } from 'node:net'
import type { SocketAddress } from '../../engine/ended-connection.ts'

/** A caller and its known properties. */
export interface Caller {
  readonly socket: Socket
  readonly source: SocketAddress
  readonly listen: SocketAddress // the local address of its socket
  readonly destination: SocketAddress | null // that the caller connected to, from the header
  readonly serverName: string // from its ClientHello, or empty
  readonly early: Buffer | null // bytes before its FIN, if both were read before its rule was known
}

export function callerOf(socket: Socket): Caller {
  const { remoteAddress: address = '', remotePort: port = 0 } = socket
  const { localAddress = '', localPort = 0 } = socket
  const listen = { address: localAddress, port: localPort }
  return { socket, source: { address, port }, listen, destination: null, serverName: '', early: null }
}
