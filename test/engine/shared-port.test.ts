// The portable engine's shared port: the descriptors of a caller that waits for its ClientHello.
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import t from 'tap'
import { Descriptors } from '../../agent/portable-engine/net/descriptors.ts'
import { PeekHistogram } from '../../agent/portable-engine/tcp/peek-histogram.ts'
import { type Acceptor, SharedPort } from '../../agent/portable-engine/tcp/shared-port.ts'
import { clientHello } from './client-hellos.ts'

t.test('a peek releases its descriptor before its caller becomes a connection', async t => {
  const descriptors = new Descriptors()
  let free = 0
  while (descriptors.reserve(1)) free++
  descriptors.release(2) // as many as a connection needs
  const port = new SharedPort(443, { descriptors, peeks: new PeekHistogram() })
  const accepted = Promise.withResolvers<boolean>()
  const state = { rule: { name: 'a.example' }, sourceRefusal: () => null } as unknown as Acceptor['state']
  port.join({ state, accept: () => accepted.resolve(descriptors.reserve(2)) }, null)
  const server = createServer({ pauseOnConnect: true }, (caller: Socket) => void port.receive(caller, 443))
  t.teardown(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  const caller = connect(typeof address === 'object' ? (address?.port ?? 0) : 0, '127.0.0.1')
  t.teardown(() => caller.destroy())

  caller.write(await clientHello({ servername: 'a.example' }))

  t.ok(await accepted.promise)
  t.ok(free > 2)
})
