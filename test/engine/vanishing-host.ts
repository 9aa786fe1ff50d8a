// A host in its own network, at 10.99.0.2. Commands: 'joins', 'calls:PORT' (of 10.99.0.1), 'listens', 'vanishes'. Reads
// what it gets, or with READS=no only the first bytes.
import { execFileSync } from 'node:child_process'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

const ip = (...args: string[]): void => void execFileSync('ip', args)
const report = (seen: unknown): void => void process.send?.({ host: seen })

/** Reports the first bytes that it gets. */
function serve(socket: Socket): void {
  socket.on('error', () => {})
  socket.on('data', () => {})
  socket.once('data', () => {
    if (process.env['READS'] === 'no') socket.pause()
    report('served')
  })
}

process.on('message', (message: unknown) => {
  const [command, port] = String(message).split(':')
  if (command === 'joins') {
    ip('addr', 'add', '10.99.0.2/24', 'dev', 'host')
    ip('link', 'set', 'host', 'up')
    report('joined')
  } else if (command === 'calls') {
    serve(connect(Number(port), '10.99.0.1'))
  } else if (command === 'listens') {
    const server = createServer(serve).listen(0, '10.99.0.2', () =>
      report((server.address() as AddressInfo).port)
    )
  } else {
    ip('link', 'set', 'host', 'down')
    report('gone')
  }
})
report('started')
