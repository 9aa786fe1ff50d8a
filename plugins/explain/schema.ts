import { isIP } from 'node:net'
import { type Static, type TProperties, Type } from 'typebox'
import { closed, orNull } from '../../kernel/http/schema.ts'
import type { SlotReader } from '../../kernel/slot.ts'
import { type Protocol, pathExplainerSlot, protocolName } from '../rules/exports.ts'

const Sni = Type.Refine(
  Type.String({
    maxLength: 253,
    description: 'TLS server name in the ClientHello; default: none.',
    examples: ['shop.example']
  }),
  text => /^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?\.?$/i.test(text),
  () => 'must be a DNS name such as shop.example'
)

export const Question = closed({
  client: Type.String({
    maxLength: 255,
    description: 'client_id, or the name of one client; for a group rule it selects the member.',
    examples: ['paris']
  }),
  port: Type.Integer({
    minimum: 1,
    maximum: 65_535,
    description: 'Listen port on the client.',
    examples: [443]
  }),
  protocol: protocolName('Protocol of the caller: tcp or udp, in any case.'),
  source: Type.Optional(
    Type.Refine(
      Type.String({
        maxLength: 64,
        description: 'Address of the caller, or of the proxy in front; default: any.',
        examples: ['198.51.100.7']
      }),
      text => isIP(text) !== 0 && !text.includes('%'),
      () => 'must be an address such as 198.51.100.7'
    )
  ),
  sni: Type.Optional(Sni),
  probe: Type.Optional(
    Type.Boolean({
      description: 'The agent connects to each target as for a caller, within 3 s; default false.'
    })
  ),
  dry: Type.Optional(
    Type.Boolean({
      description: 'The probe sends no byte to targets: it only resolves and connects; default false.'
    })
  ),
  test_byte: Type.Optional(
    Type.Boolean({
      description:
        'The agent calls the port from its host and sends one byte. This caller counts like any other; default false.'
    })
  )
})
export type Question = Omit<Static<typeof Question>, 'protocol'> & { readonly protocol: Protocol }

const Reason = (description: string) => Type.String({ description, examples: ['connect_refused'] })
const Ms = (description: string) => Type.Optional(Type.Number({ minimum: 0, description, examples: [12.5] }))

const RuleName = Type.Optional(
  Type.String({ description: 'Name of the rule with this id, if it has one.', examples: ['web'] })
)

const Step = closed(
  {
    kind: Type.String({ description: 'Kind of the deciding object.', examples: ['rule'] }),
    id: Type.String({ description: 'Id of the deciding object.', examples: ['01KCD3F0P7Q4Y6Z8V1T5S9R2NB'] }),
    rule_name: RuleName,
    verdict: Type.Union([Type.Literal('pass'), Type.Literal('stop'), Type.Literal('info')], {
      description: 'stop: the caller gets no further; always the last step.'
    }),
    reason: orNull(Reason('An error code, a state, or a reason of `rejected`.')),
    text: Type.String({
      description: 'The decision as a sentence.',
      examples: ['10.0.0.7:80 refuses connections']
    })
  },
  { $id: 'ExplainStep', description: 'One decision.' }
)
export type Step = Static<typeof Step>

const TargetRow = Type.Object({
  host: Type.String({ description: 'As in the rule.', examples: ['10.0.0.7'] }),
  port: Type.Integer({
    description: 'In a range, the target port for the requested port.',
    examples: [80]
  }),
  priority: Type.Integer({ minimum: 0, description: 'The lowest is tried first.', examples: [0] }),
  address: orNull(Type.String({ description: 'The dialed address.' }), { examples: ['10.0.0.7'] }),
  dns_ms: orNull(Type.Number({ minimum: 0, description: 'Duration of the DNS look-up.' }), {
    examples: [0.4]
  }),
  dns_age_ms: Ms('Age of the cached DNS answer.'),
  connect_ms: orNull(Type.Number({ minimum: 0, description: 'Duration of the connect.' }), {
    examples: [1.2]
  }),
  tls_name: Type.Optional(
    Type.String({ description: 'A name in the certificate of the target.', examples: ['shop.example'] })
  ),
  first_byte_ms: Ms('Time from the connect to the first byte of the target.'),
  error: Type.Optional(Reason('Why a caller cannot reach it, or what is wrong with it.'))
})
export type Target = Static<typeof TargetRow>

/** Returns the schema of a target with the properties of the plugin that has paths. */
function targetSchema(filled: SlotReader) {
  const added = filled(pathExplainerSlot).map(({ value }) => value.properties)
  const properties: TProperties = Object.assign({}, TargetRow.properties, ...added)
  const options = { $id: 'ExplainTarget', description: 'A target, as seen by the probe.' }
  return Type.Unsafe<Target>(closed(properties, options))
}

export const explanationSchema = (filled: SlotReader) =>
  closed(
    {
      outcome: Type.Union(
        [
          Type.Literal('forwarded'),
          Type.Literal('refused'),
          Type.Literal('no_rule'),
          Type.Literal('unknown')
        ],
        {
          description:
            'What happens to the caller. unknown: the client cannot answer, or has not applied the rule yet.'
        }
      ),
      decided_by: closed(
        {
          kind: Type.String({ description: 'Kind of the deciding object.', examples: ['target'] }),
          id: Type.String({ description: 'Id of the deciding object.', examples: ['10.0.0.7:80'] }),
          rule_name: RuleName,
          reason: Reason(
            'An error code, a state, or a reason of `rejected`; `active` or `connected` if forwarded.'
          )
        },
        {
          description:
            'The deciding step: the stop, else the first target that accepts the caller, else the rule.'
        }
      ),
      steps: Type.Array(Step, { description: 'All decisions, in order.' }),
      targets: Type.Array(targetSchema(filled), {
        description: 'In failover order; empty if the caller does not get that far.'
      })
    },
    { $id: 'Explanation' }
  )
export type Explanation = Static<ReturnType<typeof explanationSchema>>
