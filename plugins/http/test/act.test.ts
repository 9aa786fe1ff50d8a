import t, { type Test } from 'tap'
import { defineCode, Fault } from '../../../kernel/base/errors.ts'
import { currentRequestId } from '../../../kernel/base/request-id.ts'
import { User } from '../../../kernel/identity/entities.ts'
import { definePlugin, type Kernel } from '../../../kernel/plugin.ts'
import { testServer } from '../../../kit/test-server.ts'
import type { Act, ActCall } from '../exports.ts'

const timer = definePlugin({ name: 'timer', version: '1.0.0', kernel: '^2.0.0', needs: { http: '^1.0.0' } })
const tooLate = defineCode('too_late', 409, 3)

/** A server with ann and the disabled bob, and the service `act` of a plugin. */
async function openServer(t: Test) {
  const server = await testServer(t, { plugins: ['users', 'auth', 'audit', timer] })
  for (const user_id of ['root', 'max', 'ann', 'bob'])
    await server.call('POST', '/v1/users', {
      user_id,
      display_name: user_id,
      role: ['root', 'max'].includes(user_id) ? 'superadmin' : 'user'
    })
  await server.call('PATCH', '/v1/users/bob', { disabled: true })
  const { act, store } = server.server.depsOf('timer') as Kernel & { readonly act: Act }
  const nameOf = (id: string) => store.read(async em => (await em.findOne(User, { id }))?.displayName)
  const newest = async () =>
    (await server.call<Record<string, unknown>[]>('GET', '/v1/audit?limit=1')).body[0]
  return { act, nameOf, newest, call: server.call }
}

const ann = { kind: 'user', id: 'ann' }
const rename = (name: string) => (call: ActCall) =>
  call.change(ann, em => em.nativeUpdate(User, { id: 'ann' }, { displayName: name }))

t.test('a change that no request makes is one transaction with its entry in the audit log', async t => {
  const { act, nameOf, newest } = await openServer(t)

  const principal = await act('ann', 'timer.rename', async call => {
    await rename('renamed')(call)
    return call.principal
  })

  t.same(principal, { userId: 'ann', role: 'user', method: 'system' })
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

  await currentRequestId.run('r-7', () => act('_timer', 'timer.rename', rename('renamed')))

  t.match(await newest(), { actor: '_timer', role: 'superadmin', request_id: 'r-7' })
})

t.test(
  'a fault inside the change rolls it back; the audit entry has the fault, also if it follows the change',
  async t => {
    const { act, nameOf, newest } = await openServer(t)
    const fail = () => {
      throw new Fault(tooLate, 'too late')
    }
    const inside = (call: ActCall) =>
      call.change(ann, async em => {
        await em.nativeUpdate(User, { id: 'ann' }, { displayName: 'renamed' })
        fail()
      })

    await t.rejects(act('_timer', 'timer.rename', inside), { message: 'too late' })
    t.equal(await nameOf('ann'), 'ann')
    t.match(await newest(), {
      actor: '_timer',
      outcome: 'allow',
      status: 409,
      reason: 'too_late',
      resource_id: null
    })

    await t.rejects(
      act('_timer', 'timer.rename', call => rename('renamed')(call).then(fail)),
      { message: 'too late' }
    )
    t.equal(await nameOf('ann'), 'renamed')
    t.match(await newest(), { status: 409, reason: 'too_late', resource_id: 'ann' })
  }
)

t.test(
  'an unknown or disabled user, and the operator, cannot be the actor; the denial has an entry',
  async t => {
    const { act, newest } = await openServer(t)

    for (const [actor, reason] of [
      ['nobody', 'unauthenticated'],
      ['bob', 'user_disabled'],
      ['_operator', 'unauthenticated']
    ] as const) {
      const work = async () => t.fail('the work runs')
      await t.rejects(act(actor, 'timer.rename', work), { message: /there is no user|is disabled/ }, actor)
      t.match(await newest(), { actor, outcome: 'deny', status: 401, reason }, actor)
    }
  }
)

t.test('an actor who is disabled or demoted while the work runs changes nothing', async t => {
  const { act, nameOf, call } = await openServer(t)
  const after = (change: object) => async (acting: ActCall) => {
    await call('PATCH', '/v1/users/max', change)
    return rename('renamed')(acting)
  }

  await t.rejects(act('max', 'timer.rename', after({ role: 'user' })), { message: /role of max was changed/ })
  await t.rejects(act('max', 'timer.rename', after({ disabled: true })), { message: /is disabled/ })
  t.equal(await nameOf('ann'), 'ann')
})
