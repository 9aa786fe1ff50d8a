// The command line as a whole: every command has help, and the documentation shows only valid command lines.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CommanderError } from 'commander'
import t from 'tap'
import { commands as agentCommands } from '../agent/commands.ts'
import { commandIndex } from '../config/build/command-index.ts'
import { manualPages } from '../config/build/manual-pages.ts'
import { index } from '../config/command-index.ts'
import { plugins as builtin } from '../config/plugins.ts'
import { Fault } from '../kernel/base/errors.ts'
import { kernelCodes } from '../kernel/plugin-problems.ts'
import { completion } from '../plugins/cli/program/completion.ts'
import { convertArgs } from '../plugins/cli/program/convert-args.ts'
import { sections } from '../plugins/cli/program/help-sections.ts'
import { filledBare, withExtraArgs } from '../plugins/cli/program/installed-commands.ts'
import { openProgram } from '../plugins/cli/program/program.ts'

const root = join(import.meta.dirname, '..')
const plugins = await Promise.all(Object.values(builtin).map(async load => (await load()).default))
const withoutCompletion = [
  ...agentCommands,
  ...plugins
    .flatMap(({ commands }) => commands ?? [])
    .map(command => withExtraArgs(command, slot => filledBare(slot, plugins)))
]
const all = [...withoutCompletion, completion(withoutCompletion)]

const expected =
  `up, setup, server, agent enroll, agent run, agent status, gen-token, bootstrap-superadmin, reset-password, login,
  logout, client enroll, client re-enroll, client list, client show, client rename,
  client set-address, client revoke, client delete, rule push, rule list, rule show,
  rule set-limit, rule remove, rule stats, user create, user list, user show, user update,
  user delete, user reset-password, credential issue, credential list, credential revoke,
  credential rotate, grant create, grant list, grant show, grant delete, owner-limit set, owner-limit show,
  owner-limit list, owner-limit delete, quota set, quota show, quota list, quota clear,
  quota delete, traffic user, traffic client, traffic global, audit, settings show,
  settings set-endpoint, settings clear-endpoint, apply, export, diff, plugin list, plugin new,
  plugin check, plugin reference, plugin trust, cert show, cert reissue, cert activate, backup, restore, doctor,
  completion, config check, service install, service uninstall, agent doctor, explain-error`.split(/,\s+/)

t.test('every expected command exists', async t => {
  const names = new Set(all.map(({ name }) => name))

  t.same(
    expected.filter(name => !names.has(name)),
    []
  )
  t.equal(names.size, all.length, 'names are unique')
})

t.test('the index of commands is current (npm run index)', async t => {
  t.same(index, JSON.parse(JSON.stringify(await commandIndex())))
})

t.test('each command and each of its arguments has a description', async t => {
  for (const { name, summary, args, positional = [] } of all) {
    t.match(summary, /^[A-Z].*\.$/, `${name}: ${summary}`)
    for (const [key, schema] of Object.entries(args.properties))
      t.ok('description' in schema && schema.description !== '', `${name}: ${key} has no description`)
    t.same(
      positional.filter(key => !(key in args.properties)),
      [],
      name
    )
  }
})

t.test('each command has a manual page with its arguments, options and examples', async t => {
  const pages = manualPages()
  t.equal(pages.size, all.length + 1)
  for (const { name, args, examples = [] } of all) {
    const page = pages.get(`sluice-${name.replaceAll(' ', '-')}.1`) ?? ''
    const plain = page.replaceAll('\\-', '-')
    for (const key of Object.keys(args.properties))
      t.match(
        plain.toLowerCase(),
        new RegExp(`^\\.b (-\\w, )?(--)?${key.replaceAll('_', '[-_]')}`, 'm'),
        `${name}: ${key}`
      )
    for (const example of examples) t.match(plain, example)
    // A line that begins with a dot is a roff request. The pages use only these.
    t.same(plain.match(/^\.(?!TH |SH |TP$|B |BR |nf$|fi$).*/m), null, name)
  }
  t.match(pages.get('sluice.1'), /^\.SH EXIT STATUS\n\.TP\n\.B 0\ndone$/m)
})

t.test('the help of a group lists its commands', async t => {
  t.match((await parse(['--help'])).text, /^ {2}grant +create, delete, label, list, show$/m)
})

t.test('the examples in the help of a command use that command, and are valid', async t => {
  const shown = all.flatMap(({ name, examples = [] }) => examples.map(line => ({ name, line })))
  t.ok(shown.length > 10, `${shown.length} examples`)
  for (const { name, line } of shown) {
    t.match(`${line} `, `sluice ${name} `, line)
    t.same(await parse(wordsOf(line).slice(1)), { code: '', text: '' }, line)
  }
})

t.test('each command has --help and --output', async t => {
  for (const { name } of all) {
    const { code, text } = await parse([...name.split(' '), '--help'])

    t.equal(code, 'commander.helpDisplayed', name)
    t.match(text, `Usage: sluice ${name} [options]`)
    t.match(text, /--output <format>/)
  }
})

t.test('the help has a section for each command, and no word without a command', async t => {
  const { text } = await parse(['--help'])
  const words = new Set(all.map(({ name }) => name.split(' ')[0]))

  const headings = text.split('\n').filter(line => /^\S.*:$/.test(line))
  t.same(headings, ['Options:', ...Object.keys(sections)], 'none for other plugins')
  t.same(
    Object.values(sections)
      .flat()
      .filter(word => !words.has(word)),
    []
  )
  t.notMatch(text, /^ {2}complete /m, 'only completion scripts run it')
})

t.test('docs/CLI.md explains every exit code of the error table', async t => {
  const explained = new Set(
    [...readFileSync(join(root, 'docs/CLI.md'), 'utf8').matchAll(/^\| (\d+) \| /gm)].map(([, exit]) =>
      Number(exit)
    )
  )
  for (const { code, exit } of [...kernelCodes, ...plugins.flatMap(({ codes }) => codes ?? [])])
    t.ok(explained.has(exit), `${code}: ${exit}`)
})

t.test('every command line in the documentation is valid', async t => {
  const files = globSync(['README.md', 'docs/*.md', 'plugins/*/README.md'], { cwd: root }).sort()
  const shown = files.flatMap(file =>
    commandLines(readFileSync(join(root, file), 'utf8')).map(words => ({ file, words }))
  )

  t.ok(shown.length > 100, `${shown.length} command lines`)
  for (const { file, words } of shown) {
    const { code, text } = await parse(words)
    t.match(code, /^(commander\.version)?$/, `${file}: sluice ${words.join(' ')}: ${text}`)
  }
})

t.test('a command line in the documentation ends at a redirection, and may contain numbers', async t => {
  for (const [line, words] of [
    ['sluice rule push 1 2 3', ['rule', 'push', '1', '2', '3']],
    ['sluice audit --limit 2 2>&1 | head -2', ['audit', '--limit', '2']],
    ['sluice audit --limit 2 2> log', ['audit', '--limit', '2']],
    ['sluice client show "$id" > 2', ['client', 'show', '1']]
  ] as const)
    t.same(commandLines(`    ${line}`), [words], line)
})

/** Parses a command line without running it. */
async function parse(words: readonly string[]): Promise<{ readonly code: string; readonly text: string }> {
  let text = ''
  const write = (line: string): void => {
    text += line
  }
  const program = openProgram('2.0.0', all, async (command, args) => void convertArgs(command.args, args), {
    writeOut: write,
    writeErr: write
  })
  try {
    await program.parseAsync(words, { from: 'user' })
    return { code: '', text }
  } catch (error) {
    if (error instanceof CommanderError) return { code: error.exitCode === 0 ? error.code : 'usage', text }
    if (error instanceof Fault) return { code: error.errorCode.code, text: error.message }
    throw error
  }
}

/** Returns the words after `sluice` of every command line in the listings of a text. */
function commandLines(markdown: string): string[][] {
  const listings = [...markdown.matchAll(/^```sh\n([\s\S]*?)^```$|^ {4}(\S.*)$/gm)].map(
    ([, fenced, indented]) => fenced ?? `${indented}\n`
  )
  return listings
    .map(text => text.replaceAll('\\\n', ' ').replaceAll(/(^|\s)#.*$/gm, ''))
    .flatMap(text => [...text.matchAll(/(?<![\w/.'-])(?<!install --silent )sluice ([^\n]*)/g)])
    .map(([, rest]) => wordsOf(rest ?? ''))
    .filter(words => !words.includes('$@')) // in a shell function
}

const token = /\d>(?:&\d)?|"(?:[^"\\]|\\.)*"|'[^']*'|[^\s'"|&;<>()]+|[|&;<>()]/g

/** Removes quotes, and replaces each shell variable by 1, which is valid as a number and as text. */
function wordsOf(text: string): string[] {
  const words: string[] = []
  for (const [found] of text.matchAll(token)) {
    if (/^([|&;<>()]|\d>)$/.test(found)) break
    if (/^\d>&\d$/.test(found)) continue
    words.push(found.replaceAll(/^["']|["']$/g, '').replaceAll(/^\$\w+$/g, '1'))
  }
  return words
}
