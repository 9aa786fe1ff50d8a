// A connected agent retains no memory of its handshake.

import type { Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { systemClock } from '../../../kernel/base/clock.ts'
import { alpn } from '../../../kernel/wire/control.ts'
import type { BoundHandler } from '../../../kernel/wire/message.ts'
import { Rpc } from '../../../kernel/wire/rpc.ts'
import { dial } from '../../../kit/scripted-agent.ts'
import { recordLog } from '../../../kit/test-server.ts'
import { openCertificate } from '../../certificate/certificate.ts'
import { Listener } from '../listener/listener.ts'
import { readClientHello } from '../listener/read-client-hello.ts'
import { openWorkBudgets } from '../listener/work-budget.ts'
import { codec } from './fixture.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void // added by the flag

/** A weak reference keeps its target until the end of the turn. */
async function isKept(ref: WeakRef<object>): Promise<boolean> {
  await new Promise(resolve => setImmediate(resolve))
  collectGarbage()
  return ref.deref() !== undefined
}

t.test('the ClientHello is released after it is put back', async t => {
  const socket = new PassThrough()
  const came = Promise.withResolvers<void>()
  const putBack = readClientHello(socket as unknown as Socket, came.resolve)
  socket.write(Buffer.concat([Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00]), Buffer.alloc(512)]))
  await came.promise

  let hello: WeakRef<Buffer> | null = null
  socket.unshift = (bytes: Buffer) => {
    hello = new WeakRef(bytes)
  }
  putBack()

  t.notOk(hello === null || (await isKept(hello)))
  t.type(putBack, 'function', 'while the stream is open')
})

t.test('stream options that Node retains are not part of its shared buffers', async t => {
  const came = Promise.withResolvers<TLSSocket>()
  const certificate = await openCertificate(t.testdir())
  const listener = new Listener({
    ...{ listen: '127.0.0.1:0', certificate, clock: systemClock, log: recordLog([]) },
    budgets: openWorkBudgets(systemClock),
    onStream: ({ socket }) => came.resolve(socket)
  })
  const port = await listener.start()
  t.teardown(() => listener.close())
  const { socket } = await dial({ port, fingerprint: certificate.fingerprint })
  t.teardown(() => socket.destroy())

  const kept = Reflect.get(await came.promise, '_tlsOptions') as { readonly ALPNProtocols: Buffer }

  t.ok(kept.ALPNProtocols.buffer.byteLength < 100, `${kept.ALPNProtocols.buffer.byteLength} bytes`)
  t.equal(socket.alpnProtocol, alpn)
})

t.test('the handlers before Hello are released after others replace them', async t => {
  const made = (): BoundHandler[] => [{ name: 'first', run: async () => null }]
  const rpc = new Rpc({
    ...{ codec, handlers: made(), clock: systemClock, log: recordLog([]), deadlineMs: undefined },
    write: () => {},
    handled: () => {}
  })
  const first = new WeakRef(rpc.handlers)
  t.ok(await isKept(first))

  rpc.handlers = []

  t.notOk(await isKept(first))
})
