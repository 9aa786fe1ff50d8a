import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { systemClock } from '../../../kernel/base/clock.ts'
import { openCodec } from '../../../kernel/wire/codec.ts'
import { recordLog } from '../../../kit/test-server.ts'
import { RequestRelay } from '../request-relay.ts'

function openRelay(query: () => Promise<never>): RequestRelay {
  return new RequestRelay({
    ...{ clock: systemClock, codec: openCodec([]), log: recordLog([]), key: 'a server' },
    signals: { query, send() {}, hold: async () => true, onSignal: () => () => {} },
    local: {
      find: () => undefined,
      isHandedOver: () => false,
      all: () => [],
      replaced() {},
      wake() {},
      recorded() {}
    }
  })
}

const question = { name: 'sluice.Question', body: new Uint8Array() }
const at = (clientId: string) => ({ clientId, sessionId: 'one', boot: 'another server' })

t.test('a remote session may end while the store does not answer', async t => {
  const stored = Promise.withResolvers<never>()
  const relay = openRelay(() => stored.promise)
  const session = new AbortController()
  const asked = relay.ask(at('paris'), question, { deadlineMs: 60_000, ended: session.signal })

  session.abort()
  await turn() // an error that nobody awaits has ended the process by then
  stored.reject(new Error('the store is unavailable'))

  await t.rejects(asked, { message: 'the store is unavailable' })
})

t.test('requests that wait for one client do not refuse those to another', async t => {
  const stored = Promise.withResolvers<never>()
  const relay = openRelay(() => stored.promise)
  const ask = (clientId: string) =>
    relay.ask(at(clientId), question, { deadlineMs: 60_000, ended: new AbortController().signal })
  const noisy = Array.from({ length: 512 }, () => ask('paris'))

  await t.rejects(ask('paris'), { code: 'wire.deadline', message: /512 requests to this client/ })
  const quiet = ask('oslo')
  stored.reject(new Error('the store is unavailable'))

  await t.rejects(quiet, { message: 'the store is unavailable' }, 'the request was stored')
  await Promise.allSettled(noisy)
  await t.rejects(ask('paris'), { message: 'the store is unavailable' }, 'ended requests no longer count')
})
