import t from 'tap'
import { protocolVersion } from '../../../kernel/wire/control.ts'
import { insertClient, testServer } from '../../../kit/test-server.ts'
import { openHandshake } from '../listener/handshake.ts'

t.test('an agent gets no session if the store is restored while it says Hello', async t => {
  const app = await testServer(t, { plugins: ['clients'] })
  const { store, clock, log } = app.server.depsOf('clients')
  let generation = 'before'
  const handshake = openHandshake({
    store,
    clock,
    log,
    version: '2.0.0',
    filled: () => [],
    generation: () => generation,
    joined: async () => {},
    requireUncontested: () => {}
  })
  const hello = {
    token: await insertClient(app, 'edge'),
    protocol_version: protocolVersion,
    agent_version: '2.0.0',
    instance_id: 'one',
    state_digest: ''
  }

  const answer = await handshake(hello, '127.0.0.1')
  t.equal(answer.welcome.generation, 'before')
  t.ok(answer.isCurrent())
  generation = 'after'

  t.notOk(answer.isCurrent())
  t.equal((await handshake(hello, '127.0.0.1')).welcome.generation, 'after')
})
