import t from 'tap'
import { Type } from 'typebox'
import { defineCommand } from '../../../kernel/cli/command.ts'
import { convertArgs } from '../program/convert-args.ts'
import { openProgram } from '../program/program.ts'

t.test('the help of a list option shows the values that its items may have', async t => {
  const kind = Type.Union([Type.Literal('edge'), Type.Literal('quota')])
  const command = defineCommand({
    name: 'choose',
    summary: 'Choose.',
    args: Type.Object({
      kinds: Type.Optional(Type.Array(kind, { description: 'Kinds of notes.' })),
      levels: Type.Optional(Type.Array(Type.Enum(['low', 'high']), { description: 'Levels.' })),
      names: Type.Optional(Type.Array(Type.String(), { description: 'Names.' }))
    }),
    run: async () => {}
  })
  const written: string[] = []
  const program = openProgram('2.0.0', [command], async () => {}, { writeOut: text => written.push(text) })

  await t.rejects(program.parseAsync(['choose', '--help'], { from: 'user' }))

  const help = written.join('').replaceAll(/\s+/g, ' ')
  t.match(help, 'Kinds of notes. Values: edge, quota.')
  t.match(help, 'Levels. Values: low, high.')
  t.match(help, /Names\. (?!Values)/)
})

t.test('an option that is a boolean or a string can have a value', async t => {
  const command = defineCommand({
    name: 'enter',
    summary: 'Enter.',
    args: Type.Object({
      sso: Type.Optional(Type.Union([Type.Boolean(), Type.String()], { description: 'A provider.' })),
      quiet: Type.Optional(Type.Boolean())
    }),
    run: async () => {}
  })
  const given = async (...words: string[]) => {
    const seen: object[] = []
    const run = async (_: unknown, args: object) => void seen.push(convertArgs(command.args, { ...args }))
    await openProgram('2.0.0', [command], run).parseAsync(['enter', ...words], { from: 'user' })
    return seen[0]
  }
  t.same(await given(), {})
  t.same(await given('--sso'), { sso: true })
  t.same(await given('--sso', '--quiet'), { sso: true, quiet: true })
  t.same(await given('--sso', 'corp'), { sso: 'corp' })
  t.same(await given('--sso=corp'), { sso: 'corp' })
})
