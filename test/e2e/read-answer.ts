import { once } from 'node:events'
import { connect } from 'node:net'

/** Returns the first byte that a new connection to the port gets: the name of the target that it reaches. */
export async function readTargetName(port: number, hello: Buffer, address = '127.0.0.1'): Promise<string> {
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

/** Returns what a target that speaks first sends to a new connection, or the code of its refusal. */
export async function readAnswer(port: number, address = '127.0.0.1'): Promise<string> {
  const socket = connect(port, address)
  try {
    const [bytes] = (await once(socket, 'data')) as [Buffer]
    return String(bytes)
  } catch (error) {
    return String(Object(error).code)
  } finally {
    socket.destroy()
  }
}
