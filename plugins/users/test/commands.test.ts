// The user and credential commands, from the command line to a server over HTTP.
import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import { Fault } from '../../../kernel/base/errors.ts'
import type { CommandCall } from '../../../kernel/cli/command.ts'
import { kernelCodes } from '../../../kernel/plugin-problems.ts'
import { operatorToken } from '../../../kit/test-server.ts'
import auth from '../../auth/plugin.ts'
import { openApiClient } from '../../cli/api/api-client.ts'
import { convertArgs } from '../../cli/program/convert-args.ts'
import { openProgram } from '../../cli/program/program.ts'
import { openPrint } from '../../cli/terminal/print.ts'
import credentials from '../../credentials/plugin.ts'
import users from '../plugin.ts'
import { password, signIn, usersFixture } from './fixture.ts'

type Args = Readonly<Record<string, unknown>>
interface Source {
  readonly input?: string
  readonly env?: Readonly<Record<string, string>>
}
const manifests = [users, auth, credentials]

async function commandFixture(t: Test) {
  const app = await usersFixture(t)
  const codes = [...kernelCodes, ...manifests.flatMap(({ codes }) => codes ?? [])]
  const exitOf = async (code: string) => codes.find(row => row.code === code)?.exit ?? 1
  const api = openApiClient({ origin: app.server.origin, token: operatorToken, exitOf, plainHttp: 'refused' })
  const commands = manifests.flatMap(({ commands }) => commands ?? [])

  /** Returns what the command prints, or the error code and the exit code. */
  async function run(line: string, { input = '', env = {} }: Source = {}): Promise<string> {
    const out: string[] = []
    const program = openProgram('2.0.0', commands, async (command, given) => {
      const print = openPrint(given['output'] === 'json' ? 'json' : 'table', out.push.bind(out), () => {})
      const args = convertArgs(command.args, given)
      const call: Pick<
        CommandCall<Args>,
        'args' | 'api' | 'filled' | 'print' | 'confirm' | 'input' | 'env'
      > = {
        args,
        filled: () => [],
        api,
        confirm: async () => {}, // skips the question
        print,
        input: Readable.from([input]) as unknown as NodeJS.ReadableStream, // the parts that these commands read
        env
      }
      await command.run(call as CommandCall<Args>) // the parts of a call that these commands use
    })
    try {
      await program.parseAsync(line.split(' '), { from: 'user' })
    } catch (error) {
      if (error instanceof Fault) return `${error.errorCode.code} ${error.errorCode.exit}`
      throw error
    }
    return out.join('\n')
  }
  const json = async (line: string, source?: Source): Promise<Record<string, unknown>> =>
    JSON.parse(await run(`${line} --output json`, source))
  return { ...app, run, json }
}

t.test('a user is created, listed, shown, changed and deleted', async t => {
  const { run, json } = await commandFixture(t)

  t.match(await json('user create ann --role superadmin'), { display_name: 'ann', role: 'superadmin' })
  t.match(await run('user create bob --display-name Bob'), /role +user/)
  t.match(await run('user list'), /^USER_ID +DISPLAY_NAME +ROLE.*\nann .*\nbob /)
  t.match(await json('user show bob'), { user_id: 'bob', display_name: 'Bob', credential_count: 0 })
  t.match(await json('user update bob --disable --role superadmin'), { disabled: true, role: 'superadmin' })
  t.match(await json('user update bob --enable'), { disabled: false })
  t.same(await json('user delete bob'), { user_id: 'bob', removed_rule_ids: [], removed_credential_ids: [] })
  t.equal(await run('user show bob'), 'user_not_found 8')
  t.equal(await run('user delete ann'), 'last_superadmin 2')
  t.equal(await run('user create ann'), 'user_already_exists 2')
  t.equal(await run('user create Ann'), 'invalid_user_id 3')
})

t.test('an update needs a change, and refuses --disable with --enable', async t => {
  const { run } = await commandFixture(t)
  await run('user create ann')

  t.equal(await run('user update ann'), 'usage 2')
  t.equal(await run('user update ann --enable --disable'), 'usage 2')
})

t.test('a password is read from the environment or standard input, never from an option', async t => {
  const app = await commandFixture(t)
  const { run } = app
  const fromInput = { input: `${password}\r\nnot this\n` }
  const fromEnv = { env: { SVC_NEW_PASSWORD: 'of the environment' } }
  await run('user create root --role superadmin --initial-password', fromInput)
  await run('user create ann --initial-password --password-change-required', fromEnv)

  t.match(await signIn(app, 'root'), { status: 200, body: { password_change_required: false } })
  t.match(await signIn(app, 'ann', 'of the environment'), {
    status: 200,
    body: { password_change_required: true }
  })
  t.equal(await run('user create eve --initial-password', { input: '' }), 'usage 2')
  t.equal(await run('user create eve --initial-password', { input: 'short\n' }), 'password_too_short 3')
  t.equal(await run('user create eve --password-change-required'), 'initial_password_required 3')
})

t.test('a password is reset to a random one, or to a chosen one that may be permanent', async t => {
  const app = await commandFixture(t)
  const { run, json } = app
  await run('user create root --role superadmin')

  const { temporary_password: temporary } = await json('user reset-password root')
  t.match(await signIn(app, 'root', String(temporary)), {
    status: 200,
    body: { password_change_required: true }
  })
  const given = await json('user reset-password root --new-password --lasting', { input: password })
  t.match(given, { temporary_password: undefined, sessions_revoked: 1 })
  t.match(await signIn(app, 'root'), { status: 200, body: { password_change_required: false } })
  t.equal(await run('user reset-password root --lasting'), 'usage 2')
  t.equal(await run('user reset-password nobody'), 'user_not_found 8')
})

t.test('a token is issued, listed without its secret, rotated and revoked', async t => {
  const app = await commandFixture(t)
  const { run, json } = app
  await run('user create root --role superadmin')
  const statusWith = async ({ token }: Record<string, unknown>): Promise<number> =>
    (await app.ask('GET', '/me', undefined, { authorization: `Bearer ${token}` })).status

  const issued = await json('credential issue --user root --label laptop --expires-in-secs 3600')
  const { credential_id: id } = issued
  t.match(issued, { user_id: 'root', label: 'laptop', token: /^svct_/ })
  t.equal(await statusWith(issued), 200)
  t.notMatch(await run('credential list --user root'), /svct_/)
  const rotated = await json(`credential rotate ${id} --user root`)
  t.same([await statusWith(issued), await statusWith(rotated)], [401, 200])
  t.equal(await run(`credential revoke ${id} --user root`), `${id} is revoked`)
  t.equal(await statusWith(rotated), 401)
  t.equal(await run('credential revoke nothing --user root'), 'credential_not_found 8')
  t.equal(await run('credential list'), 'user_not_found 8', 'the operator token has none')
})
