import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { type ConnectionOptions, connect } from 'node:tls'

/** Returns the ClientHello that OpenSSL sends. */
export async function clientHello(options: ConnectionOptions): Promise<Buffer> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // a TCP address
  const client = connect({ ...options, port, host: '127.0.0.1' })
  client.on('error', () => {}) // it is never answered
  const [socket]: Socket[] = await once(server, 'connection')
  let hello: Buffer = Buffer.alloc(0)
  while (hello.length < 5 || hello.length < 5 + hello.readUInt16BE(3)) {
    const [chunk] = await once(socket ?? server, 'data')
    hello = Buffer.concat([hello, chunk])
  }
  client.destroy()
  socket?.destroy()
  server.close()
  return hello
}

/** Splits the ClientHello over TLS records of at most `size` bytes each. */
export function splitIntoRecords(size: number, hello: Buffer): Buffer {
  const message = hello.subarray(5)
  const records = Array.from({ length: Math.ceil(message.length / size) }, (_, i) => {
    const part = message.subarray(i * size, (i + 1) * size)
    return Buffer.concat([hello.subarray(0, 3), Buffer.of(part.length >> 8, part.length & 255), part])
  })
  return Buffer.concat(records)
}
