import t from 'tap'
import { resetSocket } from '../../agent/portable-engine/tcp/reset-socket.ts'
import { openCaller, openTarget } from './engine-fixture.ts'

t.test('a socket that is reset right after end() is closed', async t => {
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  const port = await openTarget(t, socket => {
    socket.once('close', () => resolve())
    socket.end()
    resetSocket(socket)
  })

  await openCaller(t, port)

  await t.resolves(closed)
})

t.test('a socket is closed if the system refuses to reset it', async t => {
  const refused = -22 // EINVAL: happens when the other side resets at the same time
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  const port = await openTarget(t, socket => {
    const { _handle: handle } = socket as typeof socket & { _handle: { reset: () => number } }
    handle.reset = () => refused
    socket.once('close', () => resolve())
    resetSocket(socket)
  })

  await openCaller(t, port)

  await t.resolves(closed)
})
