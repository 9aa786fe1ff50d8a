// An object that is derived from a rule for another client has one declaration. Its messages follow from it.
import { type Static, Type } from 'typebox'
import { Revision } from '../../kernel/wire/control.ts'
import { type Capability, defineMessage, defineRequest, type Request } from '../../kernel/wire/message.ts'
import { declaredMessage, messageName } from './rule-field.ts'

/** The declaration of a derived object. It is plain data, which both halves share. */
export interface DeclaredObject<B extends Type.TObject = Type.TObject> {
  readonly kind: string // in snake case: 'relay_notice'
  readonly capability: Capability // required of agents that get the object
  /** Schema of the object. Bound each string, number and list; parts are numbered 1, 2, ... on the wire. */
  readonly body: B
}

interface ObjectPush<V> {
  readonly id: string // of the rule
  readonly revision: number
  readonly body: V
}

const id = Type.String({ maxLength: 26 })
const removal = Type.Union([Type.Literal('drain'), Type.Literal('cut')])
const answer = Type.Object({ id, revision: Revision })
const removeBody = Type.Object({ id, revision: Revision, removal })

/** The push and the removal of a derived object, and the answer to both. */
export interface ObjectMessages<B extends Type.TObject> {
  readonly push: Request<Type.TUnsafe<ObjectPush<Static<B>>>, typeof answer>
  readonly remove: Request<typeof removeBody, typeof answer>
}

/** Returns the messages of a declared object. */
export function objectMessages<B extends Type.TObject>({
  kind,
  body
}: Pick<DeclaredObject<B>, 'kind' | 'body'>): ObjectMessages<B> {
  const name = messageName(kind)
  const message = <S extends Type.TObject>(suffix: string, body: S) =>
    defineMessage({ ...declaredMessage('sluice.object', `${name}${suffix}`, body), body })
  const response = message('Applied', answer)
  const push = Type.Object({ id, revision: Revision, body })
  return {
    push: defineRequest({ ...message('Push', push), body: push as never, response }), // its static type is that of `body`
    remove: defineRequest({ ...message('Remove', removeBody), response })
  }
}
