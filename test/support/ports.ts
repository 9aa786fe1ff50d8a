import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'

// Below the range from which the kernel takes ports of outgoing connections, so that none of those takes it first.
// A slice for each file that runs at the same time, by the number that the runner gives it: one file's port that nobody
// is to answer on would else be another's listener. Without a runner, one for each process, mostly.
const slices = 8
const slice = Math.floor((32_768 - 10_000) / slices)
const lowest = 10_000 + (Number(process.env['TAP_JOB_ID'] ?? process.pid) % slices) * slice
const highest = lowest + slice
const given = new Set<number>()

/** The first of `width` ports in a row that nobody has, over TCP, UDP and both families; never the same twice. */
export async function freePort(width = 1): Promise<number> {
  for (;;) {
    const first = lowest + Math.floor(Math.random() * (highest - lowest - width))
    const ports = Array.from({ length: width }, (_, i) => first + i)
    if (ports.some(port => given.has(port))) continue
    if (!(await Promise.all(ports.map(isFree))).every(Boolean)) continue
    for (const port of ports) given.add(port)
    return first
  }
}

/** Nobody listens on it, over TCP and UDP, in either family. */
export async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '::')
  const socket = createSocket('udp6').bind(port, '::')
  try {
    await Promise.all([once(server, 'listening'), once(socket, 'listening')])
    return true
  } catch {
    return false // taken: the caller draws another
  } finally {
    server.close()
    socket.close()
  }
}
