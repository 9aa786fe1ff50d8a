import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import t from 'tap'
import { reset } from '../../agent/portable-engine/relay.ts'
import { call, openTarget } from './rig.ts'

t.test('a socket is closed when it is reset in the moment of its ending', async t => {
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  const port = await openTarget(t, socket => {
    socket.once('close', () => resolve())
    socket.end()
    reset(socket)
  })

  await call(t, port)

  await t.resolves(closed)
})

t.test(
  'a socket is closed when it is reset after its peer has reset it, and nobody has read that',
  async t => {
    const server = createServer({ pauseOnConnect: true }).listen(0, '127.0.0.1')
    t.teardown(() => server.close())
    await once(server, 'listening')
    const caller = connect((server.address() as AddressInfo).port, '127.0.0.1')
    const [socket] = (await once(server, 'connection')) as [Socket]
    socket.on('error', () => {})
    const closed = new Promise(resolve => socket.once('close', resolve))

    caller.once('close', () => reset(socket)) // what comes of it is read in the next turn
    caller.resetAndDestroy()

    await t.resolves(closed)
  }
)
