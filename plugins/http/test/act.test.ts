import t, { type Test } from 'tap'
import { defineCode, Fault } from '../../../kernel/base/errors.ts'
import { currentRequestId } from '../../../kernel/base/request-id.ts'
import { User } from '../../../kernel/identity/entities.ts'
import { definePlugin, type Kernel } from '../../../kernel/plugin.ts'
import { testServer } from '../../../kit/test-server.ts'
import type { Act } from '../exports.ts'

const timer = definePlugin({ name: 'timer', version: '1.0.0', kernel: '^1.0.0', needs: { http: '^1.0.0' } })
const tooLate = defineCode('too_late', 409, 3)

/** A server with ann and the disabled bob, and the service `act` of a plugin. */
async function openServer(t: Test) {
  const server = await testServer(t, { plugins: ['users', 'auth', 'audit', timer] })
  for (const user_id of ['root', 'ann', 'bob'])
    await server.call('POST', '/v1/users', {
      user_id,
      display_name: user_id,
      role: user_id === 'root' ? 'superadmin' : 'user'
    })
  await server.call('PATCH', '/v1/users/bob', { disabled: true })
  const { act, store } = server.server.depsOf('timer') as Kernel & { readonly act: Act }
  const nameOf = (id: string) => store.read(async em => (await em.findOne(User, { id }))?.displayName)
  const newest = async () =>
    (await server.call<Record<string, unknown>[]>('GET', '/v1/audit?limit=1')).body[0]
  return { act, nameOf, newest }
}

const of = { kind: 'user', id: 'ann' }
const by = (actor: string) => ({ actor, action: 'timer.rename', of })

t.test('a change that no request makes is one transaction with its entry in the audit log', async t => {
  const { act, nameOf, newest } = await openServer(t)

  const result = await act(by('ann'), async (em, principal) => {
    await em.nativeUpdate(User, { id: 'ann' }, { displayName: 'renamed' })
    return principal
  })

  t.same(result, { userId: 'ann', role: 'user', method: 'system' })
  t.equal(await nameOf('ann'), 'renamed')
  t.match(await newest(), {
    actor: 'ann',
    role: 'user',
    auth_method: 'system',
    remote_addr: null,
    method: '',
    path: '',
    action: 'timer.rename',
    resource_kind: 'user',
    resource_id: 'ann',
    outcome: 'allow',
    status: 200,
    reason: null
  })
})

t.test('a plugin acts by its own name, and the entry has the id of the request that led to it', async t => {
  const { act, newest } = await openServer(t)

  await currentRequestId.run('r-7', () => act(by('_timer'), async () => {}))

  t.match(await newest(), { actor: '_timer', role: 'superadmin', request_id: 'r-7' })
})

t.test('what the work refuses changes nothing and has an entry', async t => {
  const { act, nameOf, newest } = await openServer(t)
  const work = async (em: Parameters<Parameters<Act>[1]>[0]) => {
    await em.nativeUpdate(User, { id: 'ann' }, { displayName: 'renamed' })
    throw new Fault(tooLate, 'too late')
  }

  await t.rejects(act(by('_timer'), work), { message: 'too late' })

  t.equal(await nameOf('ann'), 'ann')
  t.match(await newest(), { actor: '_timer', outcome: 'allow', status: 409, reason: 'too_late' })
})

t.test(
  'an unknown or disabled user, and the operator, cannot be the actor; the denial has an entry',
  async t => {
    const { act, newest } = await openServer(t)
    const work = () => t.fail('the work runs')

    for (const [actor, status, reason] of [
      ['nobody', 401, 'unauthenticated'],
      ['bob', 401, 'user_disabled'],
      ['_operator', 401, 'unauthenticated']
    ] as const) {
      await t.rejects(
        act(by(actor), async () => work()),
        { message: /there is no user|is disabled/ },
        actor
      )
      t.match(await newest(), { actor, outcome: 'deny', status, reason }, actor)
    }
  }
)
