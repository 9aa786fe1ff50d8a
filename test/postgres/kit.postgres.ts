// Tests of plugins on PostgreSQL, as `sluice/kit` starts them: without the template of this suite.
import pg from 'pg'
import t from 'tap'
import { upgrade } from '../../plugins/extensions/test/notes-plugin.ts'
import { makeCluster } from './cluster.ts'

t.test('the kit upgrades a plugin on a new database, and deletes the database at the end', async t => {
  const cluster = await makeCluster()
  t.teardown(cluster.remove)
  cluster.start()
  const { url } = cluster.at('postgres')
  const databases = async (): Promise<readonly string[]> => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    const { rows } = await client.query<{ datname: string }>('select datname from pg_database')
    await client.end()
    return rows.map(({ datname }) => datname).sort()
  }

  await t.test('a test of a plugin', async t => {
    await upgrade(t, { postgres: url })
    t.equal((await databases()).length, 4)
  })

  t.same(await databases(), ['postgres', 'template0', 'template1'])
})
