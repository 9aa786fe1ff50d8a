// The kit for tests of plugins with tables and services: upgrades of a schema, and services that a test replaces.
import t from 'tap'
import { olderTables, testServer } from '../../../kit/public.ts'
import { notes, sent, upgrade } from './notes-plugin.ts'

t.test('a plugin starts on the tables that its older version has filled', t => upgrade(t))

t.test('the kit names a migration that a plugin lacks', async t => {
  t.throws(() => olderTables(notes, '0003-more'), { message: 'acme-notes has no migration 0003-more' })
})

t.test('a test replaces a service of a plugin', async t => {
  const told: string[] = []
  const mailer = { send: (text: string) => void told.push(text) }
  const server = await testServer(t, { plugins: [notes], services: { mailer } })
  const sentBefore = sent.length

  await server.call('GET', '/v1/acme-notes')

  t.same(told, ['somebody reads'])
  t.equal(sent.length, sentBefore)
  await t.rejects(testServer(t, { plugins: [notes], services: { mailr: {} } }), {
    message: 'no plugin has a service mailr'
  })
})
