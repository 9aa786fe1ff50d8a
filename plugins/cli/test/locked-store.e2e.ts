// Another program, such as an administrator's sqlite3, locks the store of a running server.
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { notOnPostgres } from '../../../test/support/store.ts'
import { testCluster, token } from '../../../test/support/test-cluster.ts'

t.test(
  'a locked store delays changes, then refuses them, and stops nobody else',
  { skip: notOnPostgres('PostgreSQL has no such lock') },
  async t => {
    const { origin, dir } = await testCluster(t)
    const other = new Database(join(dir, 'server', 'sluice.db'))
    t.teardown(() => other.close())
    const create = (user_id: string) =>
      fetch(`${origin}/v1/users`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ user_id, display_name: user_id })
      })
    const order: string[] = []

    other.exec('begin immediate')
    const refused = ['ann', 'bob', 'eve'].map(id => create(id).finally(() => order.push(id)))
    t.equal((await fetch(`${origin}/livez`)).status, 200)
    order.push('livez')
    for (const reply of await Promise.all(refused)) {
      t.equal(reply.status, 503)
      t.ok(Number(reply.headers.get('retry-after')) > 0, 'it says when to retry')
      t.match(await reply.json(), {
        error: { code: 'store_unavailable', message: /another program has locked/ }
      })
    }
    t.equal(order[0], 'livez')

    const delayed = create('ann')
    t.equal((await fetch(`${origin}/livez`)).status, 200)
    other.exec('commit')
    t.equal((await delayed).status, 201)
  }
)
