// The rule field `amplification`. A change counts for flows that begin later.
import { type Static, Type } from 'typebox'
import { defineCode, Fault } from '../../kernel/base/errors.ts'
import { fieldUnsupported, ruleField } from '../rules/exports.ts'
import { Amplification } from './entities.ts'
import { Cap, capability, defaultProvenAfter, key, maxProvenAfter, maxRatio } from './wire.ts'

export const invalidCap = defineCode('validation.amplification', 400, 3)

const { code } = invalidCap

const Body = Type.Object(
  {
    ratio: Type.Integer({
      ...{ minimum: 1, maximum: maxRatio, code },
      description: 'Bytes of replies that a flow may send, for each byte of the caller.'
    }),
    proven_after: Type.Optional(
      Type.Integer({
        ...{ minimum: 0, maximum: maxProvenAfter, code },
        description: `The cap ends with so many datagrams of the caller that each came after a reply; 0: never. Default ${defaultProvenAfter}.`
      })
    )
  },
  {
    additionalProperties: false,
    code,
    description: 'Of a UDP rule: replies are capped until the caller has proved that they reach it.',
    examples: [{ ratio: 3, proven_after: 8 }]
  }
)

export const field = ruleField({
  key,
  change: 'frozen',
  journalKind: 'limit',
  body: Body,
  requires: { capability, refusal: fieldUnsupported },
  message: Cap,
  errors: [invalidCap],
  parse({ ratio, proven_after = defaultProvenAfter }: Static<typeof Body>, { protocol }) {
    if (protocol === 'udp') return { ratio, proven_after }
    throw new Fault(invalidCap, `/${key} is for UDP rules: over TCP a source cannot be forged`, {
      details: { field: `/${key}`, reason: 'protocol' }
    })
  },
  async check() {},
  async save(rule, { ratio, proven_after: provenAfter = defaultProvenAfter }, em) {
    await em.upsert(Amplification, { rule, ratio, provenAfter })
  },
  async clear(rule, em) {
    await em.nativeDelete(Amplification, { rule })
  },
  async load(ids, em) {
    const rows = await em.find(Amplification, { rule: { $in: [...ids] } })
    return new Map(rows.map(({ rule, ratio, provenAfter }) => [rule, { ratio, proven_after: provenAfter }]))
  },
  encode: ({ ratio, proven_after = defaultProvenAfter }) => ({ ratio, proven_after })
})
