import { spawnSync } from 'node:child_process'
import t from 'tap'
import { Type } from 'typebox'
import { type Command, defineCommand } from '../../../kernel/cli/command.ts'
import { completion } from '../program/completion.ts'

const command = (name: string, args = {}): Command =>
  defineCommand({ name, summary: name, args: Type.Object(args), needs: 'nothing', async run() {} })

const values = (kind: string) => Type.String({ values: [`/v1/${kind}s`, `${kind}_id`] })

const commands = [
  command('backup', { to: Type.String(), dry_run: Type.Optional(Type.Boolean()) }),
  command('client list'),
  command('client rename', { new_name: Type.String() }),
  {
    ...command('rule move', { rule: values('rule'), by: Type.Optional(values('user')) }),
    positional: ['rule']
  },
  {
    ...command('rule remove', { rules: Type.Array(Type.String(), { values: ['/v1/rules', 'rule_id'] }) }),
    positional: ['rules']
  }
]

async function script(shell: string): Promise<string> {
  const lines: string[] = []
  const print = { line: (text: string) => void lines.push(text), data() {} }
  await completion(commands).run({ args: { shell }, print } as never) // the command uses nothing else
  return lines.join('\n')
}

const skip = spawnSync('bash', ['--version']).error ? 'bash is not installed' : false

t.test('bash completes commands, groups and options', { skip }, async t => {
  const table: readonly [string[], string][] = [
    [['cl'], 'client'],
    [['client', ''], 'list rename'],
    [['client', 'rename', '--n'], '--new-name'],
    [['client', 'rename', 'paris', '--o'], '--output'],
    [['backup', 'file', '--'], '--to --dry-run --config --output --help'],
    [['--c'], '--config'],
    [['--config', 'server.toml', 'client', ''], 'list rename'],
    [['--config', '=', 'server.toml', 'client', 'r'], 'rename'], // bash splits --config=FILE like this
    [['client', 'list', '--config', 'server.t'], ''], // the shell completes file names itself
    [['completion', 'f'], 'fish'],
    [['nonsense', 'x'], ''],
    [['rule', 'move', ''], '/v1/rules-rule_id'],
    [['rule', 'move', 'x', ''], ''],
    [['rule', 'move', '--by', ''], '/v1/users-user_id'],
    [['rule', 'move', '--'], '--by --config --output --help'],
    [['rule', 'remove', 'x', 'y', '/'], '/v1/rules-rule_id']
  ]
  const bash = await script('bash')
  for (const [args, expected] of table) {
    const line = ['sluice', ...args].map(arg => `'${arg}'`).join(' ')
    const values = 'sluice() { test "$1" = complete && echo "$2-$3"; }'
    const command = `${values}; COMP_WORDS=(${line}); COMP_CWORD=${args.length}; _sluice; echo "\${COMPREPLY[*]}"`

    const { stdout, stderr } = spawnSync('bash', ['-c', `${bash}\n${command}`], { encoding: 'utf8' })

    t.equal(stdout.trim(), expected, `${args.join(' ')} ${stderr}`)
  }
})

t.test('the scripts for zsh and fish have the same completions', async t => {
  t.match(await script('zsh'), /bashcompinit[\s\S]*complete .*-F _sluice sluice/)
  t.match(
    await script('fish'),
    /__fish_seen_subcommand_from client; and __fish_seen_subcommand_from rename' -l new-name/
  )
  t.match(
    await script('fish'),
    /from move' -l by -r -a '\(sluice complete \/v1\/users user_id 2> \/dev\/null\)'/
  )
})
