import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import { escapeControlChars } from '../../kernel/base/log.ts'
import { Type } from '../../kernel/cli/args.ts'
import { defineCommand } from '../../kernel/cli/command.ts'
import type { Explanation } from './schema.ts'

const width = 80

/** What a script reads: 0 only if callers are forwarded. */
const exitCodes = { forwarded: 0, refused: 1, unknown: 6, no_rule: 8 } as const

const explain = defineCommand({
  name: 'explain',
  summary: 'Tell why nothing happens on a port: what decides about a caller, and where they end.',
  examples: [
    'sluice explain paris:443 --sni shop.example --probe',
    'sluice explain paris:53 --protocol udp --source 198.51.100.7'
  ],
  args: Type.Object({
    place: Type.String({
      description:
        'CLIENT:PORT, with the id or name of the client; of a rule on several clients it selects one.',
      values: ['/v1/rules', 'client_name:listen_port']
    }),
    protocol: Type.Optional(
      Type.Union([Type.Literal('tcp'), Type.Literal('udp')], { description: 'Default: tcp.' })
    ),
    source: Type.Optional(Type.String({ description: 'Address of the caller.' })),
    sni: Type.Optional(Type.String({ description: 'TLS server name that the caller asks for.' })),
    probe: Type.Optional(
      Type.Boolean({ description: 'The agent goes the real way to each target, within 3 s.' })
    ),
    dry: Type.Optional(
      Type.Boolean({ description: 'With --probe: look up and connect, but send no byte to targets.' })
    ),
    test_byte: Type.Optional(
      Type.Boolean({
        description: 'The agent calls the port itself with one byte, which counts as any caller does.'
      })
    ),
    json: Type.Optional(Type.Boolean({ description: 'As --output json.' }))
  }),
  positional: ['place'],
  async run({ api, args: { place, protocol = 'tcp', json = false, ...more }, print }) {
    const [, client, digits] = /^(.+):(\d{1,5})$/.exec(place) ?? []
    if (client === undefined) throw new Fault(wrongUsage, `${place} is not CLIENT:PORT, such as paris:443`)
    const body = { client, port: Number(digits), protocol, ...more }
    const explanation = await api.call('POST /v1/explain', { body })
    if (json) print.line(JSON.stringify(explanation, null, 2))
    else print.done([textOf(explanation), ...hintOf(explanation, more)].join('\n'), explanation)
    return exitCodes[explanation.outcome]
  }
})

const hintOf = ({ outcome }: Explanation, { probe }: { readonly probe?: boolean }): string[] =>
  outcome === 'forwarded' && !probe
    ? ['', 'Nothing stops a caller before the targets; --probe goes the rest of the way.']
    : []

/** The deciding line first, then the chain. */
function textOf({ outcome, decided_by: { kind, id, reason }, steps }: Explanation): string {
  const heading = outcome === 'no_rule' ? 'no rule' : outcome
  const deciding = steps.find(step => step.kind === kind && step.id === id && step.reason === reason)
  const first = [`${heading}: ${reason}, by ${kind} ${id}`, ...wrapped(deciding?.text ?? '', '')]
  const kindWidth = Math.max(8, ...steps.map(step => step.kind.length)) + 2
  const chain = steps.flatMap(({ verdict, kind, text }) =>
    wrapped(text, `${verdict.padEnd(6)}${kind.padEnd(kindWidth)}`)
  )
  return [...first, '', ...chain].map(line => escapeControlChars(line)).join('\n')
}

/** Breaks a text at spaces; further lines are indented as far as its beginning. */
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
