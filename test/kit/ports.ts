import { once } from 'node:events'
import { createServer } from 'node:net'

// Below the range from which the kernel takes ports of outgoing connections, so that none of those takes it first.
const lowest = 10_000
const highest = 32_000
const given = new Set<number>()

/** The first of `width` ports in a row that nothing listens on, over both families; never the same twice. */
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

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  try {
    server.listen(port, '::')
    await once(server, 'listening')
    return true
  } catch {
    return false // taken: the caller draws another
  } finally {
    server.close()
  }
}
