import t from 'tap'
import { testServer } from '../../../kit/test-server.ts'

t.test('the list of servers has pages and an order like every list', async t => {
  const app = await testServer(t, { plugins: [] })

  const all = await app.call<unknown[]>('GET', '/v1/servers?limit=1&sort=-server_id')
  t.equal(all.status, 200)
  t.equal(all.body.length, 1)
  t.match(await app.call('GET', '/v1/servers?limit=0'), {
    status: 400,
    body: { error: { code: 'invalid_limit' } }
  })
  t.match(await app.call('GET', '/v1/servers?cursor=nothing'), {
    status: 400,
    body: { error: { code: 'invalid_cursor' } }
  })
})
