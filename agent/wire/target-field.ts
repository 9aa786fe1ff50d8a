// A property of a target has one declaration, as a rule field has.
import { type Static, type TSchema, Type } from 'typebox'
import type { Message } from '../../kernel/wire/message.ts'
import { type DeclaredField, fieldMessage, type Scalar, withoutNull } from './rule-field.ts'

/**
 * The declaration of a property of a target. It is plain data, like that of a rule field: `body` is the schema of the value
 * for one target, and `sent` that of what the agent receives for one target; default: the body without null.
 */
export type DeclaredTargetField<B extends TSchema = TSchema, S extends TSchema = TSchema> = Omit<
  DeclaredField<B, S>,
  'option'
>

/** The value for one target as the agent receives it. */
type SentTargetValue<V> = V extends Scalar ? V : { [K in keyof V]: Exclude<V[K], null> }

interface SentTarget<V> {
  readonly target: number // index in `RuleSpec.targets`
  readonly value: V
}

/** The value of the field at the agent: one entry for each target with a value. */
interface SentTargets<V> {
  readonly values: readonly SentTarget<V>[]
}

/** The schema of the value that the agent receives. */
export type SentTargetsSchema<B extends TSchema, S extends TSchema> = Type.TUnsafe<
  SentTargets<TSchema extends S ? SentTargetValue<Static<B>> : Static<S>>
>

/** The key of a property of targets among the fields of a rule: on the wire, in the store and in the audit log. */
export const targetFieldKey = (key: string): string => `targets.${key}`

const maxTargets = 8

/** Returns the message that carries the values of all targets of a rule. */
export function targetFieldMessage<B extends TSchema, S extends TSchema>({
  key,
  body,
  sent = body as never // the static type is that of the declaration
}: Pick<DeclaredTargetField<B, S>, 'key' | 'body' | 'sent'>): Message<SentTargetsSchema<B, S>> {
  const target = Type.Integer({ minimum: 0, maximum: maxTargets - 1 })
  const entry = Type.Object({ target, value: withoutNull(sent) })
  return fieldMessage({
    key: `target_${key}`,
    body: Type.Object({ values: Type.Array(entry, { maxItems: maxTargets }) })
  }) as never
}
