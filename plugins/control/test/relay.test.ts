import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { systemClock } from '../../../kernel/base/clock.ts'
import { openCodec } from '../../../kernel/wire/codec.ts'
import { recordLog } from '../../../kit/test-server.ts'
import { Relay } from '../servers/relay.ts'

t.test('a session elsewhere that ends while the store does not answer ends no server', async t => {
  const stored = Promise.withResolvers<never>()
  const relay = new Relay({
    ...{ clock: systemClock, codec: openCodec([]), log: recordLog([]), key: 'a server' },
    signals: { query: () => stored.promise, send() {}, hold: async () => true, onSignal: () => () => {} },
    happenings: {
      ...{ find: () => undefined, isAway: () => false, all: () => [] },
      ...{ replaced() {}, changed() {}, recorded() {} }
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
  stored.reject(new Error('the store is away'))

  await t.rejects(asked, { message: 'the store is away' })
})
