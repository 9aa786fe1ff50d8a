import { isIP } from 'node:net'
import { type Static, Type } from 'typebox'
import { closed, orNull } from '../../kernel/http/schema.ts'

const Sni = Type.Refine(
  Type.String({
    maxLength: 253,
    description: 'The TLS server name that the caller asks for; default: none, as without TLS.',
    examples: ['shop.example']
  }),
  text => /^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?\.?$/i.test(text),
  () => 'must be a DNS name such as shop.example'
)

export const Question = closed({
  client: Type.String({
    maxLength: 255,
    description: 'client_id, or the name of one client. Of a rule on several clients it says which is meant.',
    examples: ['paris']
  }),
  port: Type.Integer({ minimum: 1, maximum: 65_535, description: 'Port of the client.', examples: [443] }),
  protocol: Type.Union([Type.Literal('tcp'), Type.Literal('udp')], { description: 'What the caller sends.' }),
  source: Type.Optional(
    Type.Refine(
      Type.String({
        maxLength: 64,
        description:
          'Address of the caller, of a proxy in front that of the proxy; default: nobody in particular.',
        examples: ['198.51.100.7']
      }),
      text => isIP(text) !== 0 && !text.includes('%'),
      () => 'must be an address such as 198.51.100.7'
    )
  ),
  sni: Type.Optional(Sni),
  probe: Type.Optional(
    Type.Boolean({ description: 'The agent goes the real way to each target, within 3 s; default false.' })
  ),
  dry: Type.Optional(
    Type.Boolean({
      description: 'A probe sends no byte to targets: it looks up and connects; default false.'
    })
  ),
  test_byte: Type.Optional(
    Type.Boolean({
      description:
        'The agent calls the port itself, from its own host, and sends one byte. Such a caller counts as any other; default false.'
    })
  )
})
export type Question = Static<typeof Question>

const Reason = (description: string) => Type.String({ description, examples: ['connect_refused'] })
const Ms = (description: string) => Type.Optional(Type.Number({ minimum: 0, description, examples: [12.5] }))

const Step = closed(
  {
    kind: Type.String({ description: 'What decides.', examples: ['rule'] }),
    id: Type.String({ description: 'Of the object that decides.', examples: ['01KCD3F0P7Q4Y6Z8V1T5S9R2NB'] }),
    verdict: Type.Union([Type.Literal('pass'), Type.Literal('stop'), Type.Literal('info')], {
      description: 'stop: the caller comes no further; it is the last step.'
    }),
    reason: orNull(Reason('A code of errors, states or `rejected`.')),
    text: Type.String({ description: 'A sentence.', examples: ['10.0.0.7:80 refuses connections'] })
  },
  { $id: 'ExplainStep', description: 'One decision.' }
)
export type Step = Static<typeof Step>

const Target = closed(
  {
    host: Type.String({ description: 'As in the rule.', examples: ['10.0.0.7'] }),
    port: Type.Integer({ description: 'Of a range: for the port asked about.', examples: [80] }),
    priority: Type.Integer({ minimum: 0, description: 'The lowest is tried first.', examples: [0] }),
    address: orNull(Type.String({ description: 'The address that was dialed.' }), { examples: ['10.0.0.7'] }),
    dns_ms: orNull(Type.Number({ minimum: 0, description: 'How long the look-up took.' }), {
      examples: [0.4]
    }),
    dns_age_ms: Ms('How long ago DNS gave the answer that was used.'),
    connect_ms: orNull(Type.Number({ minimum: 0, description: 'How long the connect took.' }), {
      examples: [1.2]
    }),
    tls_name: Type.Optional(
      Type.String({
        description: 'A name of the certificate that the target shows.',
        examples: ['shop.example']
      })
    ),
    first_byte_ms: Ms('From the connect to the first byte of the target.'),
    error: Type.Optional(Reason('Why a caller does not reach it, or what is wrong with it.'))
  },
  { $id: 'ExplainTarget', description: 'A target, as the probe has seen it.' }
)
export type Target = Static<typeof Target>

export const Explanation = closed(
  {
    outcome: Type.Union(
      [Type.Literal('forwarded'), Type.Literal('refused'), Type.Literal('no_rule'), Type.Literal('unknown')],
      {
        description: 'What becomes of the caller. unknown: the client cannot be asked, or has yet to answer.'
      }
    ),
    decided_by: closed(
      {
        kind: Type.String({ description: 'What decides.', examples: ['target'] }),
        id: Type.String({ description: 'Of the object that decides.', examples: ['10.0.0.7:80'] }),
        reason: Reason('A code of errors, states or `rejected`; `active` or `connected` if it is forwarded.')
      },
      {
        description:
          'The step that decides: the stop, else the first target that takes the caller, else the rule.'
      }
    ),
    steps: Type.Array(Step, { description: 'The decisions in order.' }),
    targets: Type.Array(Target, {
      description: 'In the order in which they are tried; none if it does not come so far.'
    })
  },
  { $id: 'Explanation' }
)
export type Explanation = Static<typeof Explanation>
