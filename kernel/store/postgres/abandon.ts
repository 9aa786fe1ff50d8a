import { connect } from 'node:net'
import type { Client } from 'pg'

/**
 * Ends a connection in a state that nobody knows, and what the database still does for it (CancelRequest of its protocol):
 * while it waits for rows of others it does not see that nobody listens, and its limits go by a clock that may step back.
 * A commit is not disturbed: it would no longer wait for synchronous standbys, and be made.
 */
export function abandon(client: Client, isCommitting = false): void {
  const { host, port } = client
  const [backend, secret] = ['processID', 'secretKey'].map(name => Number(Reflect.get(client, name)))
  if (backend && secret && !isCommitting) {
    const request = Buffer.alloc(16) // its length, its code, and whose statement is meant
    for (const [at, word] of [16, 80_877_102, backend, secret].entries()) request.writeInt32BE(word, at * 4)
    const socket = connect(host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port })
    socket.on('error', () => {}).setTimeout(5000, () => socket.destroy()) // it was tried
    socket.end(request)
  }
  client.end().catch(() => {}) // it may be lost already
}
