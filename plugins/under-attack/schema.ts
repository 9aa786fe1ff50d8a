import { type Static, Type } from 'typebox'
import { ClientId, closed, timeOf } from '../../kernel/http/schema.ts'
import { defaults, maxCount, maxForSecs, maxWithinSecs } from './wire.ts'

const orNull = (schema: ReturnType<typeof Type.String>, description: string) =>
  Type.Union([schema, Type.Null()], { description })

const numbers = {
  connections: Type.Integer({
    ...{ minimum: 1, maximum: maxCount, examples: [defaults.connections] },
    description: 'Connections and flows that a source may have open, on rules without a limit for sources.'
  }),
  new_connections: Type.Integer({
    ...{ minimum: 1, maximum: maxCount, examples: [defaults.new_connections] },
    description: 'Connections and flows that it may begin there in `within_secs`.'
  }),
  within_secs: Type.Integer({
    ...{ minimum: 1, maximum: maxWithinSecs, examples: [defaults.within_secs] },
    description: 'Of new_connections.'
  })
}

export const SwitchRecord = closed(
  {
    client_id: orNull(
      Type.String(),
      'Of the client; null: clients that enroll while the switch is on for all.'
    ),
    client_name: orNull(Type.String(), 'Name of the client.'),
    reason: orNull(Type.String(), 'As the operator has given it.'),
    made_by: Type.String({ description: 'user_id of the operator.', examples: ['root'] }),
    from: timeOf('When it was turned on.'),
    until: timeOf('When it ends by itself.'),
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
      Type.String({ minLength: 1, maxLength: 256, description: 'For those who look later.' })
    ),
    ...Type.Partial(Type.Object(numbers)).properties
  },
  { examples: [{ for_secs: 7200, reason: 'flood since noon' }] }
)
export type SwitchBody = Static<typeof SwitchBody>

export const Switched = closed({
  under_attack: Type.Array(SwitchRecord, {
    description: 'One for each client, and one for those that enroll.'
  })
})

export const ClientParams = closed({ client_id: ClientId })
