import { connect } from 'node:net'
import type { Client } from 'pg'

/**
 * Ends a connection in an unknown state and cancels its statement (CancelRequest of the protocol): a backend that waits for
 * locks does not notice the end, and its timeouts follow a clock that can step back. Commits are not cancelled: they would
 * be made without waiting for synchronous standbys.
 */
export function abandon(client: Client, isCommitting = false): void {
  const { host, port } = client
  const backend = Number(Reflect.get(client, 'processID'))
  const secret = Number(Reflect.get(client, 'secretKey'))
  if (backend && secret && !isCommitting) {
    const request = Buffer.alloc(16) // length, code, process id and secret
    for (const [at, word] of [16, 80_877_102, backend, secret].entries()) request.writeInt32BE(word, at * 4)
    const socket = connect(host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port })
    socket.on('error', () => {}).setTimeout(5000, () => socket.destroy()) // best effort
    socket.end(request)
  }
  client.end().catch(() => {}) // it may have failed before
}
