import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import { type Command, defineCommand } from '../../../kernel/cli/command.ts'
import { ruleValues } from '../../rules/command-exports.ts'
import { completeValues } from '../program/complete-values.ts'
import { completion } from '../program/completion.ts'

const command = (name: string, args = {}): Command =>
  defineCommand({ name, summary: name, args: Type.Object(args), needs: 'nothing', async run() {} })

const values = (kind: string) => Type.String({ values: [`/v1/${kind}s`, `${kind}_id`] })

const commands = [
  command('backup', {
    to: Type.String(),
    key_file: Type.Optional(Type.String()),
    dry_run: Type.Optional(Type.Boolean())
  }),
  command('client list'),
  command('client rename', { new_name: Type.String() }),
  {
    ...command('token key move', { key: values('key') }),
    positional: ['key']
  },
  command('token list', { long: Type.Optional(Type.Boolean()) }),
  {
    ...command('rule move', { rule: values('rule'), by: Type.Optional(values('user')) }),
    positional: ['rule']
  },
  { ...command('explain', { place: values('rule') }), positional: ['place'] },
  {
    ...command('rule remove', { rules: Type.Array(Type.String(), { values: ['/v1/rules', 'rule_id'] }) }),
    positional: ['rules']
  }
]

async function script(shell: string): Promise<string> {
  const lines: string[] = []
  const print = { text: (text: string) => void lines.push(text), data() {} }
  await completion(commands).run({ args: { shell }, print } as never) // the command uses nothing else
  return lines.join('\n')
}

const without = (shell: string) =>
  spawnSync(shell, ['--version']).error ? `${shell} is not installed` : false
const skip = without('bash')

t.test('bash completes commands, groups and options', { skip }, async t => {
  const table: readonly [string[], string][] = [
    [['cl'], 'client'],
    [['client', ''], 'list rename'],
    [['client', 'rename', '--n'], '--new-name'],
    [['client', 'rename', 'paris', '--o'], '--output'],
    [['backup', 'file', '--'], '--to --key-file --dry-run --config --bytes --output --help'],
    [['--c'], '--config'],
    [['--config', 'server.toml', 'client', ''], 'list rename'],
    [['--config', '=', 'server.toml', 'client', 'r'], 'rename'], // bash splits --config=FILE like this
    [['client', 'list', '--config', 'server.t'], ''], // the shell completes file names itself
    [['completion', 'f'], 'fish'],
    [['nonsense', 'x'], ''],
    [['rule', 'move', ''], '/v1/rules-rule_id'],
    [['rule', 'move', 'x', ''], ''],
    [['explain', ''], '/v1/rules-rule_id'],
    [['explain', 'x', ''], ''],
    [['rule', 'move', '--by', ''], '/v1/users-user_id'],
    [['rule', 'move', '--'], '--by --config --bytes --output --help'],
    [['rule', 'remove', 'x', 'y', '/'], '/v1/rules-rule_id'],
    [['token', ''], 'key list'],
    [['token', 'list', '--l'], '--long'],
    [['token', 'key', ''], 'move'],
    [['token', 'key', 'move', ''], '/v1/keys-key_id'],
    [['token', 'key', 'move', 'x', ''], ''],
    [['token', 'key', 'move', '--o'], '--output']
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

/** Names that a server may send, and that a shell would evaluate, expand or split. */
const hostile = [
  '$(touch evaluated)',
  '`touch evaluated`',
  '*',
  '~root',
  'a b',
  "it's",
  'say "hi"',
  'a;touch evaluated',
  '$HOME',
  '!!',
  '\\x',
  '-rf',
  '--server=https://evil.example/',
  'plain'
]
const listing = hostile.map(name => `'${name.replaceAll("'", "'\\''")}'`).join(' ')

/** Runs a script in a directory with one file, and returns its output and the names of all files. */
function runIn(t: Test, shell: string, text: string) {
  const cwd = t.testdir({ file: '' })
  const { stdout, stderr } = spawnSync(shell, ['-c', text], { encoding: 'utf8', cwd })
  t.equal(stderr, '')
  return { lines: stdout.split('\n').filter(line => line !== ''), files: readdirSync(cwd) }
}

t.test('names from the server are neither evaluated nor expanded in bash', { skip }, async t => {
  const text = `${await script('bash')}
    sluice() { printf '%s\\n' ${listing}; }
    offer() { COMP_WORDS=(sluice rule move "$1") COMP_CWORD=3; _sluice; printf '%s\\n' "\${COMPREPLY[@]}"; }
    offer ''; echo --; offer '$(t'; echo --; offer "'a"; echo --; offer 'a\\ '
    for word in "\${COMPREPLY[@]}"; do eval "printf '%s\\n' $word"; done`

  const { lines, files } = runIn(t, 'bash', text)

  t.same(files, ['file'])
  const offered = lines.slice(0, lines.indexOf('--'))
  t.same(offered.length, hostile.length - 2, 'all but the names that look like options')
  t.same(lines.slice(offered.length), ['--', '\\$\\(touch\\ evaluated\\)', '--', 'a b', '--', 'a\\ b', 'a b'])
  const read = runIn(t, 'bash', `printf '%s\\n' ${offered.join(' ')}`)
  t.same(
    read.lines,
    hostile.filter(name => !name.startsWith('-')),
    'each word stands for its name'
  )
})

t.test(
  'names from the server are neither evaluated nor expanded in zsh',
  { skip: without('zsh') },
  async t => {
    const text = `autoload -Uz compinit && compinit -D
    ${await script('zsh')}
    sluice() { printf '%s\\n' ${listing}; }
    offer() {
      emulate -L sh; setopt kshglob noshglob braceexpand ksharrays
      COMP_WORDS=(sluice rule move "$1") COMP_CWORD=3; _sluice; printf '%s\\n' "\${COMPREPLY[@]}"
    }
    offer ''`

    const { lines, files } = runIn(t, 'zsh', text)

    t.same(files, ['file'])
    const read = runIn(t, 'zsh', `printf '%s\\n' ${lines.join(' ')}`)
    t.same(
      read.lines,
      hostile.filter(name => !name.startsWith('-'))
    )
  }
)

t.test(
  'names from the server are neither evaluated nor expanded in fish',
  { skip: without('fish') },
  async t => {
    const text = `${await script('fish')}
    function sluice; printf '%s\\n' ${listing.replaceAll("'\\''", "\\'")}; end
    complete -C 'sluice rule move '`

    const { lines, files } = runIn(t, 'fish', text)

    t.same(files, ['file'])
    for (const name of hostile.filter(name => !name.startsWith('-')))
      t.ok(
        lines.some(line => line.includes(name.slice(0, 2))),
        name
      )
  }
)

t.test(
  'fish offers the commands of a group once, not after one was chosen',
  { skip: without('fish') },
  async t => {
    const offers = async (line: string) =>
      runIn(t, 'fish', `${await script('fish')}\nfunction sluice; echo v1; end\ncomplete -C 'sluice ${line}'`)
        .lines
    const words = async (line: string) => (await offers(line)).map(text => text.split('\t')[0])

    t.same(await words('token '), ['key', 'list'])
    t.same(await words('token key '), ['move'])
    t.same(await words('token key move '), ['v1'])
    t.same(await words('rule move '), ['v1'])
    t.same(await words('rule remove v1 '), ['v1'])
    t.ok((await words('rule move --b')).includes('--by'))
  }
)

t.test('fish offers files where a command has no other values', { skip: without('fish') }, async t => {
  const text = await script('fish')
  const offers = (line: string) => {
    const { lines } = runIn(t, 'fish', `${text}\nfunction sluice; echo v1; end\ncomplete -C 'sluice ${line}'`)
    return lines.map(offer => offer.split('\t')[0])
  }

  t.same(offers('backup '), ['file'])
  t.same(offers('backup --key-file '), ['file'])
  t.same(offers('rule move --by '), ['v1'])
  t.notOk(offers('').includes('file'))
})

t.test('the scripts for zsh and fish have the same completions', async t => {
  t.match(await script('zsh'), /bashcompinit[\s\S]*complete .*-F _sluice sluice/)
  t.match(
    await script('fish'),
    /__fish_seen_subcommand_from client; and __fish_seen_subcommand_from rename' -l new-name/
  )
  t.match(
    await script('fish'),
    /from list; and not __fish_seen_subcommand_from key' -l long/,
    'an option of `token list` is not one of `token key list`'
  )
  t.match(
    await script('fish'),
    /from move' -l by -x -a '\(sluice complete \/v1\/users user_id 2> \/dev\/null\)'/
  )
})

t.test('rules are offered by name and by place, each once, without those that have none', async t => {
  const rule = { name: null, client_name: 'paris', listen_port: 8080, protocol: 'tcp' }
  const rows = [
    { ...rule, name: 'web' },
    { ...rule, name: 'web', client_name: 'lyon' },
    { ...rule, listen_port: 53, protocol: 'udp' },
    { ...rule, client_name: null },
    { ...rule, client_name: '--server=https://evil.example/' }
  ]
  const lines: string[] = []
  const [path, property] = ruleValues.values
  const call = {
    args: { path, property },
    api: { get: async () => rows },
    print: { text: (text: string) => lines.push(text) }
  }

  await completeValues.run(call as never) // only what the command uses

  t.same(lines.join().split('\n'), ['web', 'paris:8080/tcp', 'lyon:8080/tcp', 'paris:53/udp'])
})
