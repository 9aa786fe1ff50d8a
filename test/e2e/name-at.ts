import { connect } from 'node:net'

/** Returns the first byte that a new connection to the port gets: the name of the target that it reaches. */
export async function nameAt(port: number, hello: Buffer, address = '127.0.0.1'): Promise<string> {
  const socket = connect(port, address)
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  socket.once('data', resolve).once('error', reject)
  socket.once('close', () => reject(new Error('closed without an answer')))
  socket.write(hello)
  try {
    return (await promise).toString('latin1', 0, 1)
  } finally {
    socket.destroy()
  }
}
