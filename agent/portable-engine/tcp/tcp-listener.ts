import { once } from 'node:events'
import { createServer, isIPv6, type Server, type Socket } from 'node:net'
import type { EngineRule } from '../../engine.ts'
import { faultOf } from '../engine-fault.ts'

export const socketOptions = {
  allowHalfOpen: true,
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: 60_000
} as const

interface Place {
  readonly address: string
  readonly port: number
}

/** Every port on every address, or none. Gives the call that shuts them: nobody comes in after it. */
export async function listenEverywhere(
  { from, to }: Pick<EngineRule, 'from' | 'to'>,
  bind: readonly string[],
  onCaller: (caller: Socket, port: number) => void
): Promise<() => void> {
  const servers: Server[] = []
  const shut = () => {
    for (const server of servers) server.close()
  }
  const open = async (place: Place) => {
    const server = await listen(place, caller => onCaller(caller, place.port))
    if (server) servers.push(server)
  }
  const ports = Array.from({ length: to - from + 1 }, (_, i) => from + i)
  const tries = await Promise.allSettled(bind.flatMap(address => ports.map(port => open({ address, port }))))
  const [failed] = tries.flatMap(tried => (tried.status === 'rejected' ? [tried.reason] : []))
  if (failed === undefined && servers.length > 0) return shut

  shut()
  throw failed ?? faultOf(new Error(`no address of ${bind.join(', ')} is usable`), `port ${from}`)
}

/** Address reuse is libuv's default: a port in TIME_WAIT is free, one that another socket listens on is not. */
async function listen({ address, port }: Place, onCaller: (caller: Socket) => void): Promise<Server | null> {
  const server = createServer({ ...socketOptions, pauseOnConnect: true }, onCaller)
  server.listen({ host: address, port, ipv6Only: isIPv6(address), exclusive: true, backlog: 4_096 })
  try {
    await once(server, 'listening')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException // net rejects with nothing else
    if (address === '::' && (code === 'EAFNOSUPPORT' || code === 'EADDRNOTAVAIL')) return null // no IPv6 here
    throw faultOf(error, `${address} port ${port}`)
  }
  server.on('error', () => {}) // failed accepts: libuv sheds those callers, and the listener goes on
  return server
}
