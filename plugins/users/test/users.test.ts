import t, { type Test } from 'tap'
import { Fault } from '../../../kernel/base/errors.ts'
import { User } from '../../../kernel/identity/entities.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { testServer } from '../../../kit/test-server.ts'
import type { Users } from '../exports.ts'

interface Deps extends Kernel {
  readonly users: Users
}
const ann = { userId: 'ann', displayName: 'Ann', role: 'user' } as const

async function usersDeps(t: Test): Promise<Deps> {
  const { server } = await testServer(t, { plugins: ['users'] })
  return server.depsOf('users') as Deps
}

/** Returns the code of the refusal, or null. */
const codeOf = (call: () => Promise<unknown>): Promise<string | null> =>
  call().then(
    () => null,
    error => (error instanceof Fault ? error.errorCode.code : String(error))
  )

t.test('a user is stored as given, enabled, with the time', async t => {
  const { users, store, clock } = await usersDeps(t)

  await store.change(em => users.insert(em, { ...ann, displayName: ' Ann Ångström 🦊 ' }))

  t.match(await store.read(em => em.find(User, {})), [
    { id: 'ann', displayName: 'Ann Ångström 🦊', role: 'user', disabled: false, createdAt: clock.now() }
  ])
})

t.test('a user_id is unique', async t => {
  const { users, store } = await usersDeps(t)
  const insert = () => store.change(em => users.insert(em, ann))
  await insert()

  t.equal(await codeOf(insert), 'user_already_exists')
})

t.test('invalid user ids and display names are refused', async t => {
  const { users } = await usersDeps(t)
  const cases: [object, string | null][] = [
    [{ userId: 'a' }, null],
    [{ userId: `a${'-_9'.repeat(10)}x` }, null],
    [{ userId: 'a'.repeat(33) }, 'invalid_user_id'],
    [{ userId: '' }, 'invalid_user_id'],
    [{ userId: '9a' }, 'invalid_user_id'],
    [{ userId: 'Ann' }, 'invalid_user_id'],
    [{ userId: 'ann\n' }, 'invalid_user_id'],
    [{ userId: 'me' }, 'reserved_user_id'],
    [{ userId: '_superadmin' }, 'reserved_user_id'],
    [{ displayName: '🦊'.repeat(64) }, null],
    [{ displayName: 'x'.repeat(65) }, 'invalid_display_name'],
    [{ displayName: '  ' }, 'invalid_display_name'],
    [{ displayName: 'a\u001bb' }, 'invalid_display_name'],
    [{ displayName: 'a\u202eb' }, 'invalid_display_name']
  ]
  for (const [given, code] of cases)
    t.equal(await codeOf(async () => users.check({ ...ann, ...given })), code, JSON.stringify(given))
})
