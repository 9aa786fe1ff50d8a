import t from 'tap'
import { ManagedObjectRow, SpentToken } from '../../../kernel/identity/entities.ts'
import { hashOf } from '../../../kernel/identity/secret.ts'
import { definePlugin } from '../../../kernel/plugin.ts'
import { afterCommit } from '../../../kernel/store/after-commit.ts'
import { testServer } from '../../../kit/test-server.ts'
import type { ClientRow } from '../client-row.ts'
import { removingSlot, revokingSlot } from '../exports.ts'
import { insertClients, notFound } from './fixture.ts'

t.test('only a revoked client can be deleted; its token is spent, and it may be revoked again', async t => {
  const app = await testServer(t, { plugins: ['clients'] })
  const [id = ''] = await insertClients(app, 'edge')
  const { store } = app.server.depsOf('clients')
  await store.change(em => em.insert(ManagedObjectRow, { clientId: id, kind: 'x', id: '1', revision: 1 }))
  const url = `/v1/clients/${id}`

  t.match(await app.call('DELETE', url), { status: 409, body: { error: { code: 'client_not_revoked' } } })
  t.match(await app.call('POST', `${url}/revoke`), { status: 204, body: undefined })
  const first = await app.call<ClientRow>('GET', url)
  await app.clock.advance(1000)
  t.match(await app.call('POST', `${url}/revoke`), { status: 204 })

  t.match(first.body, { state: 'revoked', connected: false, revoked_at: '2026-01-15T12:00:00.000Z' })
  t.strictSame((await app.call('GET', url)).body, first.body)
  t.match(await store.read(em => em.findAll(SpentToken)), [{ hash: hashOf(id), clientId: id }])

  t.match(await app.call('DELETE', url), { status: 204 })
  t.match(await app.call('GET', url), notFound)
  t.equal(await store.read(em => em.count(ManagedObjectRow)), 0)
  t.equal(await store.read(em => em.count(SpentToken)), 1, 'its token is still recorded as spent')
})

t.test(
  'slot functions of a revocation or removal run in its transaction; an error rolls it back',
  async t => {
    const calls: string[] = []
    let isBroken = true
    const other = definePlugin({
      name: 'other',
      version: '1.0.0',
      kernel: '^2.0.0',
      needs: { clients: '^1.0.0' },
      fills: [
        revokingSlot.fill(async ({ name }, em) => {
          if (isBroken) throw new Error('disk full')
          afterCommit(em, () => calls.push(`revoked ${name}`))
        }),
        removingSlot.fill(async ({ name }, em) => {
          if (isBroken) throw new Error('disk full')
          afterCommit(em, () => calls.push(`removed ${name}`))
        })
      ]
    })
    const app = await testServer(t, { plugins: ['clients', other] })
    const [id = ''] = await insertClients(app, 'edge')
    const url = `/v1/clients/${id}`

    t.match(await app.call('POST', `${url}/revoke`), { status: 500 })
    t.match(await app.call('GET', url), { body: { state: 'disconnected' } })
    isBroken = false
    t.match(await app.call('POST', `${url}/revoke`), { status: 204 })
    isBroken = true
    t.match(await app.call('DELETE', url), { status: 500 })
    t.match(await app.call('GET', url), { body: { state: 'revoked' } })
    isBroken = false
    t.match(await app.call('DELETE', url), { status: 204 })

    t.strictSame(calls, ['revoked edge', 'removed edge'])
  }
)
