import t from 'tap'
import { testServer } from '../../kit/test-server.ts'

t.test('the migrations of all plugins create the tables of their entities', async t => {
  const { server } = await testServer(t, { keys: { metrics_listen: '127.0.0.1:0' } })
  const sql = await server
    .depsOf('http')
    .store.read(em =>
      em.getPlatform().getSchemaGenerator(em.getDriver(), em)?.getUpdateSchemaSQL({ wrap: false })
    )
  t.equal(sql, '')
})
