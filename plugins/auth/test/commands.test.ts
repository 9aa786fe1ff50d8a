import t from 'tap'
import type { CommandCall } from '../../../kernel/cli/command.ts'
import type { TestServer } from '../../../kit/test-server.ts'
import { commands } from '../commands.ts'
import { addUser, authServer, depsOf, onboardedServer, refusalOf } from './fixture.ts'

/** Runs a command on the store of a server and returns what it printed. */
async function run(app: TestServer, name: string, args: object = {}): Promise<unknown> {
  const printed: unknown[] = []
  const call = {
    args,
    open: async () => depsOf(app),
    print: { data: (value: object) => printed.push(value) }
  }
  const command = commands.find(command => command.name === name)
  // These commands use only these parts of a call.
  await command?.run(call as unknown as CommandCall<Record<PropertyKey, unknown>>)
  return printed[0]
}

t.test('bootstrap-superadmin prints the bearer token of _superadmin', async t => {
  const app = await authServer(t)

  t.match(await run(app, 'bootstrap-superadmin'), { user_id: '_superadmin', token: /^svct_[\w-]{43}$/ })
})

t.test(
  'reset-password prints the temporary password, and --keep-api-tokens spares bearer tokens',
  async t => {
    const app = await onboardedServer(t)
    await addUser(app, 'ann')
    const reset = (options: object) =>
      run(app, 'reset-password', { user: 'ann', temporary: true, ...options })
    await app.call('POST', '/v1/users/ann/credentials')

    t.match(await reset({ keep_api_tokens: true }), {
      temporary_password: /^[\w-]{20}$/,
      api_tokens_revoked: 0
    })
    t.match(await reset({}), { api_tokens_revoked: 1 })
  }
)

t.test('reset-password requires --temporary', async t => {
  const app = await onboardedServer(t)

  const refusal = await refusalOf(run(app, 'reset-password', { user: 'root' }))

  t.match(refusal, { errorCode: { exit: 2 }, message: /--temporary/ })
})
