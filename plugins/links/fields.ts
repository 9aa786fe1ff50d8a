// The properties `via` of a rule and of its targets. The agent of the entry gets both as one message.
import { Type } from 'typebox'
import type { DeclaredField } from '../../agent/wire/rule-field.ts'
import type { DeclaredTargetField } from '../../agent/wire/target-field.ts'
import { capability, Id, maxPath, maxTargets, TargetKey } from './wire.ts'

const examples = [['01KCD3F0P7Q4Y6Z8V1T5S9R2NA']]
const Client = Type.String({ maxLength: 255 })
const Path = [Client, Type.Array(Client)] as const

/** The paths as the agent of the entry gets them. */
const ViaSent = Type.Object({
  paths: Type.Array(
    Type.Object({
      target: Type.Integer({ minimum: 0, maximum: maxTargets - 1 }), // index in `RuleSpec.targets`
      next: Id, // the first client of the path
      key: TargetKey,
      others: Type.Array(Id, { maxItems: maxPath - 1 }) // further clients, for lists of connections
    }),
    { maxItems: maxTargets }
  )
})

export const via = {
  key: 'via',
  capability,
  body: Type.Union([...Path], {
    description:
      'Clients through which the targets are reached: the id or name of one, or 1 to 3 in order. The last one dials.',
    examples
  }),
  sent: ViaSent
} satisfies DeclaredField

export const targetVia = {
  key: via.key,
  capability,
  body: Type.Union([...Path, Type.Null()], {
    description: 'Clients through which this target is reached, instead of those of the rule; null: none.',
    examples
  })
} satisfies DeclaredTargetField
