import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'

// Ports are below the ephemeral range of the operating system, so that no outgoing connection takes one. Each concurrent
// test process has its own slice, by the job number of the runner: a port on which one file expects no listener must not
// be used by another. Without a runner, the process id selects the slice.
const slices = 8
const sliceWidth = Math.floor((32_768 - 10_000) / slices)
const lowest = 10_000 + (Number(process.env['TAP_JOB_ID'] ?? process.pid) % slices) * sliceWidth
const highest = lowest + sliceWidth
const given = new Set<number>()
const maxAttempts = 20_000

/** Lets `freePort` return all ports again, for the next test file of a process. */
export const forgetGivenPorts = (): void => given.clear()

/** Lets `freePort` return none of these ports, which a test uses without asking. */
export function skipPorts(from: number, to: number): void {
  for (let port = from; port <= to; port++) given.add(port)
}

/** Returns the first of `width` consecutive ports that are free for TCP and UDP, IPv4 and IPv6. Never repeats a port. */
export async function freePort(width = 1): Promise<number> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const first = lowest + Math.floor(Math.random() * (highest - lowest - width))
    const ports = Array.from({ length: width }, (_, i) => first + i)
    if (ports.some(port => given.has(port))) continue
    if (!(await Promise.all(ports.map(isFree))).every(Boolean)) continue
    for (const port of ports) given.add(port)
    return first
  }
  throw new Error(`no ${width} consecutive ports are free in ${lowest}-${highest}; ${given.size} were given`)
}

/** Returns true if nothing listens on the port, over TCP and UDP, IPv4 and IPv6. */
export async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '::')
  const socket = createSocket('udp6').bind(port, '::')
  try {
    await Promise.all([once(server, 'listening'), once(socket, 'listening')])
    return true
  } catch {
    return false // in use
  } finally {
    server.close()
    socket.close()
  }
}
