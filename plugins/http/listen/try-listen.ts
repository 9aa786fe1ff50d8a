import { once } from 'node:events'
import { createServer } from 'node:net'
import { listenFault, parseListen } from '../../../kernel/platform/listen-fault.ts'
import type { Listen } from './listen-conflict.ts'

/**
 * Listens for a moment, to learn whether a start could. `isRunning`: a process of the same configuration has the port. Throws
 * as `listenFault`.
 */
export async function tryListen({ key, text }: Listen, isRunning: boolean): Promise<void> {
  const { host, port } = parseListen(text)
  try {
    await bindAndClose(host, port).catch(error => {
      if (host !== '::' || !/EAFNOSUPPORT|EADDRNOTAVAIL/.test(String(error))) throw error
      return bindAndClose('0.0.0.0', port) // the control stream falls back to IPv4
    })
  } catch (cause) {
    const isOwn = isRunning && cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE'
    if (!isOwn) throw listenFault(key, text, cause)
  }
}

async function bindAndClose(host: string, port: number): Promise<void> {
  const server = createServer().listen({ host, port })
  await once(server, 'listening')
  server.close()
  await once(server, 'close')
}
