import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import { escapeControlChars } from '../../kernel/base/log.ts'
import { Type } from '../../kernel/cli/args.ts'
import { type Api, defineCommand, type Print } from '../../kernel/cli/command.ts'
import { findRule, parsePlace, ruleValues } from '../rules/command-exports.ts'
import type { Explanation } from './schema.ts'

const width = 80

/** Exit codes for scripts: 0 only if callers are forwarded. */
const exitCodes = { forwarded: 0, refused: 1, unknown: 6, no_rule: 8 } as const

const explain = defineCommand({
  name: 'explain',
  summary: 'Explain what happens to a caller of a port, and what decides it.',
  examples: [
    'sluice explain paris:443 --sni shop.example --probe',
    'sluice explain paris:53/udp --source 198.51.100.7',
    'sluice explain web --probe'
  ],
  args: Type.Object({
    place: Type.String({
      description:
        'CLIENT:PORT or CLIENT:PORT/udp; for a group rule it selects the member. Or a rule: its name, CLIENT/NAME or id.',
      ...ruleValues
    }),
    protocol: Type.Optional(
      Type.Union([Type.Literal('tcp'), Type.Literal('udp')], { description: 'tcp (default) or udp.' })
    ),
    source: Type.Optional(Type.String({ description: 'Address of the caller.' })),
    sni: Type.Optional(Type.String({ description: 'TLS server name in the ClientHello.' })),
    probe: Type.Optional(
      Type.Boolean({ description: 'The agent connects to each target as for a caller, within 3 s.' })
    ),
    dry: Type.Optional(
      Type.Boolean({ description: 'With --probe: resolve and connect, but send no byte to targets.' })
    ),
    test_byte: Type.Optional(
      Type.Boolean({
        description: 'The agent calls the port itself with one byte, which counts like any caller.'
      })
    ),
    json: Type.Optional(Type.Boolean({ description: 'Same as --output json.' }))
  }),
  positional: ['place'],
  async run({ api, args: { place, protocol, json = false, ...more }, print }) {
    const body = { ...(await findPlace(api, place, protocol)), ...more }
    const explanation = await api.call('POST /v1/explain', { body })
    if (json) print.text(JSON.stringify(explanation, null, 2))
    else print.done([format(explanation, print), ...hints(explanation, more)].join('\n'), explanation)
    return exitCodes[explanation.outcome]
  }
})

/** Returns the client and port of the text. Throws `rule_not_found`, or `usage` if it names no rule or several. */
async function findPlace(api: Api, text: string, protocol: 'tcp' | 'udp' | undefined) {
  const place = parsePlace(text)
  if (place) return { ...place, protocol: protocol ?? place.protocol }
  const rule = await findRule(api, text)
  const slash = text.lastIndexOf('/')
  const client = slash > 0 ? text.slice(0, slash) : rule.client_id
  if (client !== null) return { client, port: rule.listen_port, protocol: rule.protocol }
  throw new Fault(
    wrongUsage,
    `rule ${text} is on several clients; give one with its port, such as paris:${rule.listen_port}`
  )
}

const hints = ({ outcome }: Explanation, { probe }: { readonly probe?: boolean }): string[] =>
  outcome === 'forwarded' && !probe
    ? ['', 'Nothing stops a caller before the targets. Use --probe to check the targets too.']
    : []

/** Formats the deciding step first, then all steps. */
function format(
  { outcome, decided_by: { kind, id, reason, rule_name: name }, steps }: Explanation,
  { paint }: Pick<Print, 'paint'>
): string {
  const heading = outcome === 'no_rule' ? 'no rule' : outcome
  const deciding = steps.find(step => step.kind === kind && step.id === id && step.reason === reason)
  const first = [
    `${heading}: ${reason}, by ${kind} ${name === undefined ? id : `${name} (${id})`}`,
    ...wrapped(deciding?.text ?? '', '')
  ]
  const kindWidth = Math.max(8, ...steps.map(step => step.kind.length)) + 2
  const chain = steps.flatMap(({ verdict, kind, text }) =>
    wrapped(text, `${verdict.padEnd(6)}${kind.padEnd(kindWidth)}`)
      .map(escapeControlChars)
      .map((line, at) => (at === 0 ? line.replace(verdict, paint) : line))
  )
  const [title = '', ...text] = first.map(escapeControlChars)
  return [title.replace(heading, paint), ...text, '', ...chain].join('\n')
}

/** Wraps a text at spaces; further lines are indented to its start. */
function wrapped(text: string, beginning: string): string[] {
  const lines: string[] = []
  let line = beginning
  for (const word of text.split(' ')) {
    const isEmpty = line.trim() === '' || line === beginning
    if (!isEmpty && line.length + word.length >= width) {
      lines.push(line.trimEnd())
      line = ' '.repeat(beginning.length)
    }
    line += `${word} `
  }
  return [...lines, line.trimEnd()]
}

export const commands = [explain]
