// Writes the manual pages, man(7), from the index of commands, like the help: sluice.1, and a page for each command.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command as Program } from 'commander'
import { completion } from '../../plugins/cli/program/completion.ts'
import { openProgram } from '../../plugins/cli/program/program.ts'
import { index } from '../command-index.ts'

const root = join(import.meta.dirname, '..', '..')
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }

const all = [...index.commands, completion(index.commands)]

const environment = {
  SVC_SERVER: 'Address of the operator API; default: http://127.0.0.1:7080.',
  SVC_TOKEN: 'Token for the operator API; default: the token saved by sluice login.',
  SVC_CONFIG: 'TOML configuration of the server.',
  SVC_CACERT: 'PEM file of the certificate authorities to trust for the operator API.',
  SVC_HOLD_REFUSED_START:
    'true: if a restart could not help, a server or agent that fails to start waits for SIGTERM instead of exiting.',
  'SVC_<KEY>': 'Overrides a key of the configuration file. For an agent also SVC_AGENT_<KEY>.',
  NO_COLOR: 'If set, output has no colours.'
}

/** Returns the pages by file name. */
export function manualPages(): ReadonlyMap<string, string> {
  const program = openProgram(version, all, async () => {})
  const pages = all.map(({ name, summary, examples = [] }) => {
    const command = name.split(' ').reduce((parent, word) => subcommand(parent, word), program as Program)
    const title = `sluice-${name.replaceAll(' ', '-')}`
    return [`${title}.1`, commandPage({ title, name, summary, examples, command })] as const
  })
  return new Map([['sluice.1', mainPage()], ...pages])
}

function mainPage(): string {
  const commands = all.map(({ name, summary }) => tagged(`sluice ${name}`, summary))
  const exits = [...readFileSync(join(root, 'docs/CLI.md'), 'utf8').matchAll(/^\| (\d+) \| (.+) \|$/gm)]
  return page('sluice', [
    section('NAME', text('sluice - self-hosted TCP and UDP port forwarding for fleets')),
    section('SYNOPSIS', '.B sluice\n.I command\n[options]'),
    section(
      'DESCRIPTION',
      text(
        'A server stores rules, users and limits. Agents on edge hosts listen on ports and forward connections to targets. Each command has a separate page, such as sluice-rule-push(1).'
      )
    ),
    section('COMMANDS', ...commands),
    section('ENVIRONMENT', ...Object.entries(environment).map(([name, what]) => tagged(name, what))),
    section('EXIT STATUS', ...exits.map(([, code = '', what = '']) => tagged(code, what.replaceAll('`', ''))))
  ])
}

interface Shown {
  readonly title: string
  readonly name: string
  readonly summary: string
  readonly examples: readonly string[]
  readonly command: Program
}

function commandPage({ title, name, summary, examples, command }: Shown): string {
  const given = command.registeredArguments
  const synopsis = [
    `.B sluice ${text(name)}`,
    '[options]',
    ...given.map(argument => text(argument.required ? argument.name() : `[${argument.name()}]`))
  ]
  return page(title, [
    section('NAME', text(`${title} - ${summary.replace(/\.$/, '')}`)),
    section('SYNOPSIS', ...synopsis),
    ...(given.length > 0
      ? [section('ARGUMENTS', ...given.map(argument => tagged(argument.name(), argument.description)))]
      : []),
    section('OPTIONS', ...command.options.map(({ flags, description }) => tagged(flags, description))),
    ...(examples.length > 0 ? [section('EXAMPLES', '.nf', ...examples.map(text), '.fi')] : []),
    section('SEE ALSO', '.BR sluice (1)')
  ])
}

function subcommand(parent: Program, word: string): Program {
  const found = parent.commands.find(command => command.name() === word)
  if (!found) throw new TypeError(`the program has no command ${word}`)
  return found
}

const page = (title: string, sections: readonly string[]): string =>
  `.TH ${title.toUpperCase().replaceAll('-', '\\-')} 1 "" "sluice ${version}"\n${sections.join('')}`

const section = (name: string, ...lines: readonly string[]): string => `.SH ${name}\n${lines.join('\n')}\n`

const tagged = (term: string, what: string): string => `.TP\n.B ${text(term)}\n${text(what)}`

/** Escapes text for roff: backslashes, hyphens that readers copy, and characters that start a request. */
const text = (plain: string): string =>
  plain
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(/^([.'])/gm, '\\&$1')

/** Writes the pages into a folder. */
export function writeManual(dir: string): void {
  mkdirSync(dir, { recursive: true })
  for (const [file, page] of manualPages()) writeFileSync(join(dir, file), page)
}
