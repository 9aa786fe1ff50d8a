import t from 'tap'
import { runAgent, testServer } from '../../../kit/public.ts'
import type { Sample } from '../schema.ts'

t.test('an agent reports its host soon after it connects, and each minute', async t => {
  const server = await testServer(t)
  const agent = await runAgent(t, server, 'paris')
  const read = async () => (await server.call<Sample[]>('GET', `/v1/clients/${agent.clientId}/health`)).body

  for (let at = 0; at < 3; at++) {
    for (let isStored = false; !isStored; isStored = (await read()).length > at)
      await server.clock.advance(5_000)
  }

  const samples = await read()
  t.ok(samples.length >= 3)
  t.match(samples[0], { cpu_percent: Number, memory_used_bytes: Number, rtt_ms: Number })
})
