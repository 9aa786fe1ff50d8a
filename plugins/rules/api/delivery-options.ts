// How changes of rules reach clients: in the body of a create, in queries, and in the document of `apply`.
import { type Static, Type } from 'typebox'

export const deliveryOptions = {
  if_offline: Type.Optional(
    Type.Union([Type.Literal('refuse'), Type.Literal('queue')], {
      description: 'If the client is offline. queue: the rule is pending until the client reconnects.',
      default: 'refuse'
    })
  ),
  ack_timeout_secs: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 60, description: 'How long to wait for the client; default 5.' })
  ),
  existing: Type.Optional(
    Type.Union([Type.Literal('keep'), Type.Literal('drain'), Type.Literal('cut')], {
      description: 'Live connections to removed targets or of a paused rule: keep (default), drain or cut.'
    })
  )
}

export type DeliveryOptions = Static<Type.TObject<typeof deliveryOptions>>
