import t from 'tap'
import { plugins as builtin } from '../../../config/plugins.ts'
import { testServer } from '../../../kit/test-server.ts'

t.test(
  'the ETag of a change of a user is that which a read shows, with the fields of all plugins',
  async t => {
    const { call } = await testServer(t, { plugins: Object.keys(builtin) })
    const labels = { zone: 'b', env: 'prod' }
    const user = { user_id: 'ann', display_name: 'Ann', labels }
    for (const [method, path, body] of [
      ['POST', '/v1/users', user],
      ['PATCH', '/v1/users/ann', { display_name: 'Ann Lee' }],
      ['PATCH', '/v1/users/ann', { labels: { env: 'test' } }]
    ] as const) {
      const changed = await call(method, path, body)
      const read = await call('GET', '/v1/users/ann')
      t.ok(changed.status < 300, changed.text)
      t.type(changed.headers['etag'], 'string')
      t.equal(changed.headers['etag'], read.headers['etag'], method)
    }
  }
)
