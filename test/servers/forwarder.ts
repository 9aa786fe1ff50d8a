// Between a server and its database: a process that can be stopped, as a network can.
import { connect, createServer } from 'node:net'

const [listen = '', to = ''] = process.argv.slice(2)
createServer(client => {
  const database = connect(Number(to), '127.0.0.1')
  for (const [from, other] of [
    [client, database],
    [database, client]
  ] as const) {
    from.on('data', data => other.write(data))
    from.on('error', () => {}) // the end follows
    from.on('close', () => other.destroy())
  }
}).listen(Number(listen), '127.0.0.1', () => process.stdout.write('listens\n'))
