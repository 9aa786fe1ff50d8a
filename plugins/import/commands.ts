import { writeFileSync } from 'node:fs'
import { Fault, reasonOf, wrongUsage } from '../../kernel/base/errors.ts'
import { Type } from '../../kernel/cli/args.ts'
import { defineCommand, type Print } from '../../kernel/cli/command.ts'
import { pathArgument } from '../../kernel/platform/path-problem.ts'
import { importIncomplete } from './codes.ts'
import type { Report } from './report.ts'

const maxNotes = 20

const importCommand = defineCommand({
  name: 'import',
  summary: 'Convert a configuration of another forwarder into a file for `apply`; asks no server.',
  examples: [
    'sluice import frp frps.toml frpc.toml --client paris --exit home --to fleet.toml --report report.json',
    'sluice import haproxy /etc/haproxy/haproxy.cfg --client paris --to fleet.toml --report report.json',
    'sluice import iptables - --client paris --strict < saved-rules.txt'
  ],
  args: Type.Object({
    source: Type.Union(
      [
        Type.Literal('frp'),
        Type.Literal('gost'),
        Type.Literal('haproxy'),
        Type.Literal('iptables'),
        Type.Literal('nginx'),
        Type.Literal('rathole'),
        Type.Literal('realm')
      ],
      {
        description:
          'frp (frps and frpc), gost, haproxy (mode tcp), iptables (output of iptables-save), nginx (stream), rathole (server and client) or realm.'
      }
    ),
    file: Type.Array(Type.String(), {
      minItems: 1,
      maxItems: 256,
      description:
        'Files of the source; - reads standard input. Includes are read only below the directory of the file.'
    }),
    client: Type.Optional(
      Type.String({ description: 'Client of all rules; default: the name of each file, without its ending.' })
    ),
    exit: Type.Optional(
      Type.String({
        description:
          'Client that dials the targets of all rules (via); default: the frpc, the client of rathole or the chain of gost, else none.'
      })
    ),
    owner: Type.Optional(Type.String({ description: 'user_id of the owner of all rules.' })),
    to: Type.Optional(
      Type.String({
        description: 'File for the document: JSON if it ends with .json, else TOML. Default: standard output.'
      })
    ),
    report: Type.Optional(
      Type.String({ description: 'File for the report, in JSON: one row for each statement of the source.' })
    ),
    strict: Type.Optional(Type.Boolean({ description: 'Write no document if a statement is refused.' }))
  }),
  positional: ['source', 'file'],
  needs: 'nothing',
  async run({ args, print, env }) {
    const { source, file, client, exit, owner, strict: isStrict = false } = args
    const to = args.to === undefined ? null : pathArgument('--to', args.to)
    const reportFile = args.report === undefined ? null : pathArgument('--report', args.report)
    if (file.filter(path => path === '-').length > 1)
      throw new Fault(wrongUsage, 'give - only once: standard input can be read once')
    const { convert, formatDocument } = await import('./convert.ts')
    const { rules, report } = convert({ source, files: file, client, exit, owner, environment: env })
    if (reportFile !== null) writeFile('--report', reportFile, `${JSON.stringify(report, null, 2)}\n`)
    else noteRefused(report, print)
    const refused = report.rows.filter(({ outcome }) => outcome === 'refused')
    const [first] = refused
    if (isStrict && first)
      throw new Fault(
        importIncomplete,
        `${count(refused.length, 'statement')} refused, first ${first.file}:${first.line} (${first.reason}); omit --strict to import the others`,
        { details: { refused: refused.length } }
      )
    const isJson = to === null ? print.format === 'json' : to.endsWith('.json')
    const document = formatDocument(rules, isJson ? 'json' : 'toml')
    if (to === null) print.text(document)
    else {
      writeFile('--to', to, `${document}\n`)
      print.done(`wrote ${count(rules.length, 'rule')} to ${to}`, { rules: rules.length, to })
    }
    if (report.clients.length > 0)
      print.note(`These clients must exist before apply: ${report.clients.join(', ')}`)
  }
})

/** Names the refused statements, because there is no report. */
function noteRefused({ rows }: Report, print: Print): void {
  const refused = rows.filter(({ outcome }) => outcome === 'refused')
  for (const { file, line, reason, text } of refused.slice(0, maxNotes))
    print.note(`${file}:${line}: refused (${reason}): ${text}`)
  if (refused.length > maxNotes)
    print.note(`${count(refused.length - maxNotes, 'more statement')} refused; --report FILE lists all`)
  const differing = rows.filter(({ outcome }) => outcome === 'approximated').length
  if (differing > 0)
    print.note(`${count(differing, 'statement')} approximated; --report FILE names the differences`)
}

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`

function writeFile(option: string, path: string, text: string): void {
  try {
    writeFileSync(path, text)
  } catch (cause) {
    throw new Fault(wrongUsage, `${option} ${path} cannot be written: ${reasonOf(cause)}`, { cause })
  }
}

export const commands = [importCommand]
