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

export type PortRange = Pick<EngineRule, 'from' | 'to'>

/**
 * Listens on every port of the range on every address, or on none: rejects with an EngineFault. Returns a function that
 * closes all listeners: no caller is accepted after it.
 */
export async function listenTcp(
  { from, to }: PortRange,
  bind: readonly string[],
  onCaller: (caller: Socket, port: number) => void
): Promise<() => void> {
  const ports = Array.from({ length: to - from + 1 }, (_, i) => from + i)
  const results = await Promise.allSettled(
    bind.flatMap(address => ports.map(port => listen(address, port, caller => onCaller(caller, port))))
  )
  const servers = results.flatMap(result => (result.status === 'fulfilled' ? (result.value ?? []) : []))
  const [failure] = results.flatMap(result => (result.status === 'rejected' ? [result.reason] : []))
  const shut = () => {
    for (const server of servers) server.close()
  }
  if (failure === undefined && servers.length > 0) return shut

  shut()
  throw failure ?? faultOf(new Error(`no address of ${bind.join(', ')} is usable`), `port ${from}`)
}

/** Returns null without IPv6. libuv sets SO_REUSEADDR: a port in TIME_WAIT is free, a listening one is not. */
async function listen(
  address: string,
  port: number,
  onCaller: (caller: Socket) => void
): Promise<Server | null> {
  const server = createServer({ ...socketOptions, pauseOnConnect: true }, onCaller)
  server.listen({ host: address, port, ipv6Only: isIPv6(address), exclusive: true, backlog: 4_096 })
  try {
    await once(server, 'listening')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException // net rejects with nothing else
    if (address === '::' && (code === 'EAFNOSUPPORT' || code === 'EADDRNOTAVAIL')) return null
    throw faultOf(error, `${address} port ${port}`)
  }
  server.on('error', () => {}) // failed accepts: libuv drops those callers, and the listener stays open
  return server
}
