// A forwarding process between two others, which can be stopped like a network.
import { connect, createServer } from 'node:net'

const [listen = '', to = ''] = process.argv.slice(2)
createServer(client => {
  // with the address of its caller, which servers count by
  const other = connect({ port: Number(to), host: '127.0.0.1', localAddress: client.remoteAddress })
  for (const [from, into] of [
    [client, other],
    [other, client]
  ] as const) {
    from.on('data', data => into.write(data))
    from.on('error', () => {}) // 'close' follows
    from.on('close', () => into.destroy())
  }
}).listen(Number(listen), '127.0.0.1', () => process.stdout.write('listens\n'))
