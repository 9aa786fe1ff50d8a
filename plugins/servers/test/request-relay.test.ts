import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { systemClock } from '../../../kernel/base/clock.ts'
import { openCodec } from '../../../kernel/wire/codec.ts'
import { recordLog } from '../../../kit/test-server.ts'
import { RequestRelay } from '../request-relay.ts'

t.test('a remote session may end while the store does not answer', async t => {
  const stored = Promise.withResolvers<never>()
  const relay = new RequestRelay({
    ...{ clock: systemClock, codec: openCodec([]), log: recordLog([]), key: 'a server' },
    signals: { query: () => stored.promise, send() {}, hold: async () => true, onSignal: () => () => {} },
    local: {
      find: () => undefined,
      isHandedOver: () => false,
      all: () => [],
      replaced() {},
      wake() {},
      recorded() {}
    }
  })
  const session = new AbortController()
  const at = { clientId: 'paris', sessionId: 'one', boot: 'another server' }
  const asked = relay.ask(
    at,
    { name: 'sluice.Question', body: new Uint8Array() },
    { deadlineMs: 60_000, ended: session.signal }
  )

  session.abort()
  await turn() // an error that nobody awaits has ended the process by then
  stored.reject(new Error('the store is unavailable'))

  await t.rejects(asked, { message: 'the store is unavailable' })
})
