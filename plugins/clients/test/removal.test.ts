import t from 'tap'
import { ManagedObjectRow, SpentToken } from '../../../kernel/identity/entities.ts'
import { hashOf } from '../../../kernel/identity/secret.ts'
import { definePlugin } from '../../../kernel/plugin.ts'
import { testServer } from '../../../kit/test-server.ts'
import { removingSlot, revokingSlot } from '../exports.ts'
import type { ClientRow } from '../row.ts'
import { enrolled, notFound } from './enrolled.ts'

t.test('a revoked client has a spent token, may be revoked again, and only then be deleted', async t => {
  const home = await testServer(t, { plugins: ['clients'] })
  const [id = ''] = await enrolled(home, 'edge')
  const { store } = home.server.depsOf('clients')
  await store.change(em => em.insert(ManagedObjectRow, { clientId: id, kind: 'x', id: '1', revision: 1 }))
  const url = `/v1/clients/${id}`

  t.match(await home.call('DELETE', url), { status: 409, body: { error: { code: 'client_not_revoked' } } })
  t.match(await home.call('POST', `${url}/revoke`), { status: 204, body: undefined })
  const first = await home.call<ClientRow>('GET', url)
  await home.clock.advance(1000)
  t.match(await home.call('POST', `${url}/revoke`), { status: 204 })

  t.match(first.body, { state: 'revoked', connected: false, revoked_at: '2026-01-15T12:00:00.000Z' })
  t.strictSame((await home.call('GET', url)).body, first.body)
  t.match(await store.read(em => em.findAll(SpentToken)), [{ hash: hashOf(id), clientId: id }])

  t.match(await home.call('DELETE', url), { status: 204 })
  t.match(await home.call('GET', url), notFound)
  t.equal(await store.read(em => em.count(ManagedObjectRow)), 0)
  t.equal(await store.read(em => em.count(SpentToken)), 1, 'its token is still told from one never seen')
})

t.test(
  'what others add to a revocation and a removal is done in the same transaction, or not at all',
  async t => {
    const told: string[] = []
    let isBroken = true
    const other = definePlugin({
      name: 'other',
      version: '1.0.0',
      kernel: '^1.0.0',
      needs: { clients: '^1.0.0' },
      fills: [
        revokingSlot.fill(async ({ name }) => {
          if (isBroken) throw new Error('disk full')
          told.push(`revoked ${name}`)
        }),
        removingSlot.fill(async ({ name }) => {
          if (isBroken) throw new Error('disk full')
          told.push(`removed ${name}`)
        })
      ]
    })
    const home = await testServer(t, { plugins: ['clients', other] })
    const [id = ''] = await enrolled(home, 'edge')
    const url = `/v1/clients/${id}`

    t.match(await home.call('POST', `${url}/revoke`), { status: 500 })
    t.match(await home.call('GET', url), { body: { state: 'disconnected' } })
    isBroken = false
    t.match(await home.call('POST', `${url}/revoke`), { status: 204 })
    isBroken = true
    t.match(await home.call('DELETE', url), { status: 500 })
    t.match(await home.call('GET', url), { body: { state: 'revoked' } })
    isBroken = false
    t.match(await home.call('DELETE', url), { status: 204 })

    t.strictSame(told, ['revoked edge', 'removed edge'])
  }
)
