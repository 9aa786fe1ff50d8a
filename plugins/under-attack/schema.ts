import { type Static, Type } from 'typebox'
import { ClientId, closed, timeOf } from '../../kernel/http/schema.ts'
import { defaults, maxCount, maxForSecs, maxWithinSecs } from './wire.ts'

const orNull = (schema: ReturnType<typeof Type.String>, description: string) =>
  Type.Union([schema, Type.Null()], { description })

const numbers = {
  connections: Type.Integer({
    minimum: 1,
    maximum: maxCount,
    examples: [defaults.connections],
    description: 'Open connections and flows per source, on rules without source limits.'
  }),
  new_connections: Type.Integer({
    minimum: 1,
    maximum: maxCount,
    examples: [defaults.new_connections],
    description: 'New connections and flows per source in `within_secs`, on those rules.'
  }),
  within_secs: Type.Integer({
    minimum: 1,
    maximum: maxWithinSecs,
    examples: [defaults.within_secs],
    description: 'Period for new_connections.'
  })
}

export const SwitchRecord = closed(
  {
    client_id: orNull(
      Type.String(),
      'Id of the client; null: clients that enroll while the switch is on for all.'
    ),
    client_name: orNull(Type.String(), 'Name of the client.'),
    reason: orNull(Type.String(), 'The reason that the operator gave.'),
    made_by: Type.String({ description: 'user_id of the operator.', examples: ['root'] }),
    from: timeOf('When it was turned on.'),
    until: timeOf('When it turns off.'),
    ...numbers
  },
  { $id: 'UnderAttack' }
)
export type SwitchRecord = Static<typeof SwitchRecord>

export const SwitchBody = closed(
  {
    for_secs: Type.Optional(
      Type.Integer({ minimum: 1, maximum: maxForSecs, description: `Default ${defaults.for_secs}.` })
    ),
    reason: Type.Optional(
      Type.String({ minLength: 1, maxLength: 256, description: 'Note for other operators.' })
    ),
    ...Type.Partial(Type.Object(numbers)).properties
  },
  { examples: [{ for_secs: 7200, reason: 'flood since noon' }] }
)
export type SwitchBody = Static<typeof SwitchBody>

export const Switched = closed({
  under_attack: Type.Array(SwitchRecord, {
    description: 'One per client, and one for clients that enroll.'
  })
})

export const ClientParams = closed({ client_id: ClientId })
