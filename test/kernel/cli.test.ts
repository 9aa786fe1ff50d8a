import t from 'tap'
import { Type } from 'typebox'
import { defineCommand } from '../../kernel/cli/command.ts'
import { convertArgs } from '../../plugins/cli/program/convert-args.ts'
import { openProgram } from '../../plugins/cli/program/program.ts'
import { openPrint } from '../../plugins/cli/terminal/print.ts'

const push = defineCommand({
  name: 'rule push',
  summary: 'push a rule',
  args: Type.Object({
    client: Type.String(),
    listen: Type.Integer(),
    targets: Type.Array(Type.String()),
    prefer_ipv6: Type.Optional(Type.Boolean()),
    ack_timeout_secs: Type.Optional(Type.Integer({ minimum: 1 }))
  }),
  positional: ['client', 'listen', 'targets'],
  needs: 'api',
  async run() {}
})

t.test('arguments are converted to the types of the schema', async t => {
  const parsed: unknown[] = []
  const program = openProgram(
    '2.0.0',
    [push],
    async (command, args) => void parsed.push(convertArgs(command.args, args))
  )

  await program.parseAsync(
    [
      'rule',
      'push',
      'paris',
      '443',
      'a:1',
      'b:2',
      '--prefer-ipv6',
      '--ack-timeout-secs',
      '9',
      '--output',
      'json'
    ],
    { from: 'user' }
  )

  t.same(parsed, [
    { client: 'paris', listen: 443, targets: ['a:1', 'b:2'], prefer_ipv6: true, ack_timeout_secs: 9 }
  ])
})

t.test('an argument with an invalid type is named', async t => {
  t.throws(() => convertArgs(push.args, { client: 'x', listen: 'abc', targets: ['a'] }), {
    errorCode: { exit: 2 },
    message: /LISTEN/
  })
})

t.test('a table has one line for each row, and escapes control characters', async t => {
  const out: string[] = []
  const print = openPrint(
    'table',
    text => out.push(text),
    () => {}
  )

  print.data([
    { client_id: '1', client_name: 'pa\u001b[2Jris\nx', tags: ['a'] },
    { client_id: '22', client_name: '\u202eevil', tags: [] }
  ])
  print.data([])

  t.equal(out[0], 'CLIENT_ID  CLIENT_NAME\n1          pa\\u001b[2Jris\\u000ax\n22         \\u202eevil')
  t.equal(out[1], 'none')
})

t.test('with --output json, standard output has only the data', async t => {
  const [out, messages]: [string[], string[]] = [[], []]
  const print = openPrint(
    'json',
    text => out.push(text),
    text => messages.push(text)
  )

  print.note('a message')
  print.data({ a: 1 })

  t.same(JSON.parse(out.join('')), { a: 1 })
  t.same(messages, ['a message'])
})
