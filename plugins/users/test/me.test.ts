import t from 'tap'
import { testServer } from '../../../kit/test-server.ts'

t.test('the operator token can read its own identity', async t => {
  const { call } = await testServer(t, { plugins: ['users'] })

  const reply = await call('GET', '/v1/users/me')

  t.equal(reply.status, 200)
  t.strictSame(reply.body, { user_id: '_operator', role: 'superadmin', display_name: 'operator token' })
})
