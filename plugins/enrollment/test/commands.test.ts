// The commands of the plugins clients and enrollment, from the command line to a server over HTTP.
import t, { type Test } from 'tap'
import { Fault } from '../../../kernel/base/errors.ts'
import type { CommandCall } from '../../../kernel/cli/command.ts'
import { Client } from '../../../kernel/identity/entities.ts'
import { newId } from '../../../kernel/platform/id.ts'
import { kernelCodes } from '../../../kernel/plugin-problems.ts'
import { operatorToken, testServer } from '../../../kit/test-server.ts'
import { openApiClient } from '../../cli/api/api-client.ts'
import { convertArgs } from '../../cli/program/convert-args.ts'
import { openProgram } from '../../cli/program/program.ts'
import { openPrint } from '../../cli/terminal/print.ts'
import clients from '../../clients/plugin.ts'
import enrollment from '../plugin.ts'

type Args = Readonly<Record<string, unknown>>

/** A server with clients of these names, and a command line for it. */
async function commandFixture(t: Test, ...names: readonly string[]) {
  const { server, clock } = await testServer(t, { plugins: ['advertised-endpoint', 'clients', 'enrollment'] })
  const rows = names.map(name => ({ id: newId(clock.now()), name, revision: 0, enrolledAt: clock.now() }))
  if (rows.length > 0) await server.depsOf('clients').store.change(em => em.insertMany(Client, rows))
  const commands = [...(clients.commands ?? []), ...(enrollment.commands ?? [])]
  const codes = [...kernelCodes, ...(clients.codes ?? []), ...(enrollment.codes ?? [])]
  const exitOf = async (code: string) => codes.find(row => row.code === code)?.exit ?? 1
  const api = openApiClient({ origin: server.origin, token: operatorToken, exitOf, plainHttp: 'refused' })

  const notes: string[] = []

  /** Returns what the command prints on standard output, or the error code and the exit code. */
  async function run(...argv: readonly string[]): Promise<string> {
    const out: string[] = []
    const program = openProgram('2.0.0', commands, async (command, given) => {
      const print = openPrint(
        given['output'] === 'json' ? 'json' : 'table',
        out.push.bind(out),
        notes.push.bind(notes)
      )
      const call: Pick<CommandCall<Args>, 'args' | 'api' | 'filled' | 'print' | 'confirm'> = {
        args: convertArgs(command.args, given),
        api,
        filled: () => [],
        confirm: async () => {}, // nobody is asked
        print
      }
      await command.run(call as CommandCall<Args>) // what these commands use of a call
    })
    try {
      await program.parseAsync([...argv], { from: 'user' })
    } catch (error) {
      if (error instanceof Fault) return `${error.errorCode.code} ${error.errorCode.exit}`
      throw error
    }
    return out.join('\n')
  }
  return { run, notes, ids: rows.map(({ id }) => id) }
}

t.test('a client is shown, renamed, given an address, revoked and deleted by its name or its id', async t => {
  const { run, ids } = await commandFixture(t, 'edge')
  const [id = ''] = ids

  t.match(await run('client', 'list'), /^CLIENT_ID +CLIENT_NAME +STATE.*\n\S+ +edge +disconnected/)
  t.match(JSON.parse(await run('client', 'show', 'edge', '--output', 'json')), { client_id: id })
  t.match(await run('client', 'rename', 'edge', 'berlin'), /client_name +berlin/)
  t.match(await run('client', 'set-address', 'berlin', '192.0.2.7'), /address +192\.0\.2\.7/)
  t.match(await run('client', 'set-address', 'berlin', '--clear'), /address +-/)
  t.equal(await run('client', 'delete', id), 'client_not_revoked 5')
  t.equal(await run('client', 'revoke', 'berlin'), `berlin (${id}) is revoked`)
  t.equal(await run('client', 'delete', 'berlin'), `berlin (${id}) is deleted`)
  t.equal(await run('client', 'show', id), 'client_not_found 8')
})

t.test(
  'a name of two clients or of none is refused, and so is an address that is given and cleared',
  async t => {
    const { run, ids } = await commandFixture(t, 'twin', 'twin')

    t.equal(await run('client', 'revoke', 'twin'), 'client_name_ambiguous 5')
    t.equal(await run('client', 'revoke', 'nobody'), 'client_not_found 8')
    t.match(await run('client', 'show', ids[1] ?? ''), ids[1])
    t.equal(await run('client', 'set-address', ids[0] ?? '', 'x.example', '--clear'), 'usage 2')
    t.equal(await run('client', 'set-address', ids[0] ?? ''), 'usage 2')
  }
)

t.test('an enrollment prints its command alone on the last line, and everything as JSON', async t => {
  const { run } = await commandFixture(t, 'edge')
  const command =
    /^sluice agent enroll 'svc:\/\/127\.0\.0\.1:\d+\/enroll\?pin=sha256:[0-9a-f]{64}&code=[\w-]{43}'$/

  const output = await run('client', 'enroll', 'new', '--address', 'new.example', '--ttl-secs', '60')
  t.match(output.split('\n').at(-1), command)
  t.match(JSON.parse(await run('client', 're-enroll', 'edge', '--output', 'json')), {
    client_name: 'edge',
    command
  })
  t.equal(await run('client', 'enroll', 'new', '--ttl-secs', '0'), 'invalid_enrollment_ttl 3')
})

t.test('a key is made, listed and deleted, and its command is the last line', async t => {
  const { run } = await commandFixture(t)

  const output = await run('client', 'key', 'create', 'web servers', '--uses', '50', '--approve')
  t.match(output, /^key_id .*\nlabel +web servers$/m)
  t.match(output.split('\n').at(-1), /^sluice agent enroll 'svc:.*&code=svck_[\w-]{43}'$/)
  const [key] = JSON.parse(await run('client', 'key', 'list', '--output', 'json'))
  t.match(key, { label: 'web servers', uses: 50, approve: true, address: null })
  t.match(await run('client', 'key', 'list'), /^KEY_ID +LABEL +STATE +USED .*\n\S+ +web servers +active +0 /)
  t.equal(
    await run('client', 'key', 'delete', key.key_id),
    `the enrollment key web servers (${key.key_id}) is deleted`
  )
  t.equal(await run('client', 'key', 'delete', key.key_id), 'enrollment_key_not_found 8')
  t.equal(await run('client', 'key', 'create', 'x', '--ephemeral-secs', '1'), 'validation.schema 3')
  t.equal(await run('client', 'key', 'create', 'x', '--address', 'here'), 'usage 2')
})

t.test('a client that does not wait for an approval cannot be approved', async t => {
  const { run } = await commandFixture(t, 'edge')

  t.equal(await run('client', 'approve', 'edge'), 'client_not_pending 5')
  t.equal(await run('client', 'approve', 'nobody'), 'client_not_found 8')
})

t.test('an enrollment warns of a name in use and of an address that other hosts do not reach', async t => {
  const { run, notes: printed } = await commandFixture(t, 'edge')
  async function notes(name: string): Promise<string[]> {
    await run('client', 'enroll', name)
    return printed.splice(0).map(note => note.replace(/svc:[^']+/, 'URI'))
  }
  const service = "As a systemd service: sluice agent join 'URI' --service"
  const local =
    'only agents on the host of the server reach this address; for other hosts run sluice settings set-endpoint'

  t.same(await notes('new'), [local, service])
  t.same(await notes('new'), ['another code for a client named new is also valid', local, service])
  t.same(await notes('edge'), [
    'a client named edge exists already; to give it a new token: client re-enroll',
    local,
    service
  ])
})
