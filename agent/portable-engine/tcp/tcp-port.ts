import { once } from 'node:events'
import { createServer, isIPv6, type Server, type Socket } from 'node:net'
import type { EngineRule } from '../../engine/engine.ts'
import { systemFault } from '../system-fault.ts'

export const socketOptions = {
  allowHalfOpen: true,
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: 60_000
} as const

/** The most callers who wait in the queue of a listener. */
export const backlog = 4_096

export type PortRange = Pick<EngineRule, 'from' | 'to'>

export const isWithin = (port: number, range: PortRange | null): boolean =>
  range !== null && range.from <= port && port <= range.to

type OnCaller = (caller: Socket, port: number) => void

/** A port that listens on all addresses. Another rule may take it over by setting `onCaller`. */
export class TcpPort {
  onCaller: OnCaller
  readonly #number: number
  readonly #servers: Server[] = []

  constructor(number: number, onCaller: OnCaller) {
    this.#number = number
    this.onCaller = onCaller
  }

  /** Rejects with an EngineFault; what listens by then is closed by `close`. */
  async listen(address: string): Promise<void> {
    const server = await listen(address, this.#number, caller => this.onCaller(caller, this.#number))
    if (server) this.#servers.push(server)
  }

  get isListening(): boolean {
    return this.#servers.length > 0
  }

  /** No caller is accepted after it. */
  close(): void {
    for (const server of this.#servers) server.close()
  }
}

/** Listens on every port on every address, or on none: rejects with an EngineFault. */
export async function listenTcp(
  numbers: readonly number[],
  bind: readonly string[],
  onCaller: OnCaller
): Promise<Map<number, TcpPort>> {
  const ports = new Map(numbers.map(number => [number, new TcpPort(number, onCaller)]))
  const results = await Promise.allSettled(
    bind.flatMap(address => [...ports.values()].map(port => port.listen(address)))
  )
  const [failure] = results.flatMap(result => (result.status === 'rejected' ? [result.reason] : []))
  const isListening = [...ports.values()].every(port => port.isListening)
  if (failure === undefined && isListening) return ports

  for (const port of ports.values()) port.close()
  throw failure ?? systemFault(new Error(`no address of ${bind.join(', ')} is usable`), `port ${numbers[0]}`)
}

/** Returns null without IPv6. libuv sets SO_REUSEADDR: a port in TIME_WAIT is free, a listening one is not. */
async function listen(
  address: string,
  port: number,
  onCaller: (caller: Socket) => void
): Promise<Server | null> {
  const server = createServer({ ...socketOptions, pauseOnConnect: true }, onCaller)
  server.listen({ host: address, port, ipv6Only: isIPv6(address), exclusive: true, backlog })
  try {
    await once(server, 'listening')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException // net rejects with nothing else
    if (address === '::' && (code === 'EAFNOSUPPORT' || code === 'EADDRNOTAVAIL')) return null
    throw systemFault(error, `${address} port ${port}`)
  }
  server.on('error', () => {}) // failed accepts: libuv drops those callers, and the listener stays open
  return server
}
