import { type Static, Type } from 'typebox'
import { closed, orNull, timeOf } from '../../kernel/http/schema.ts'
import { TimeText } from '../http/exports.ts'

export const maxNames = 20 // in a message

const Delivery = closed({
  channel: Type.String({ description: 'Name of the channel.', examples: ['ops'] }),
  state: Type.Union([Type.Literal('waiting'), Type.Literal('delivered'), Type.Literal('failed')], {
    description: 'failed: given up after the last try, or dropped because too many messages waited.'
  }),
  attempts: Type.Integer({ minimum: 0, description: 'Number of tries so far.' }),
  error: orNull(Type.String({ description: 'Error of the last attempt.' }), { examples: [null] })
})

export const NotificationRow = closed(
  {
    notification_id: Type.String({ description: 'ULID.', examples: ['01KCD3F0P7Q4Y6Z8V1T5S9R2NA'] }),
    kind: Type.String({ description: 'Kind of the events.', examples: ['edge_away'] }),
    at: timeOf('Time of the first event.'),
    count: Type.Integer({ minimum: 1, description: 'Number of events that became this message.' }),
    names: Type.Array(Type.String(), {
      maxItems: maxNames,
      description: 'Names of the objects, at most 20.',
      examples: [['paris']]
    }),
    text: Type.String({ description: 'The message, in plain text.', examples: ['1 client is away: paris'] }),
    deliveries: Type.Optional(
      Type.Array(Delivery, {
        description: 'Where the message went. Only for callers who see all notifications.'
      })
    )
  },
  { $id: 'Notification' }
)
export type NotificationRow = Static<typeof NotificationRow>

export const Since = closed({ since: Type.Optional(TimeText('Only notifications from this time on.')) })

export const ChannelRow = closed(
  {
    name: Type.String({ description: 'Key of its table in the configuration.', examples: ['ops'] }),
    type: Type.String({ description: 'Type of the destination.', examples: ['webhook'] }),
    kinds: orNull(Type.Array(Type.String()), {
      description: 'Kinds that go to this channel; null: all.',
      examples: [['edge_away', 'edge_back']]
    }),
    user: orNull(Type.String({ description: 'The channel shows only what this user may see.' }), {
      examples: [null]
    }),
    last_success_at: orNull(timeOf('Time of the last delivery or test that succeeded.')),
    last_error: orNull(Type.String({ description: 'Last error since then.' }), { examples: [null] }),
    waiting: Type.Integer({ minimum: 0, description: 'Number of messages that wait for it.' })
  },
  { $id: 'NotificationChannel' }
)
export type ChannelRow = Static<typeof ChannelRow>

export const ChannelParams = closed({
  name: Type.String({ maxLength: 64, description: 'Name of a channel.', examples: ['ops'] })
})

export const TestResult = closed(
  {
    delivered: Type.Boolean({ description: 'Whether the channel took the test.' }),
    status: orNull(Type.Integer({ description: 'Status of the HTTP response.' }), { examples: [200] }),
    error: orNull(Type.String({ description: 'Why it did not; null if it did.' }), { examples: [null] })
  },
  { $id: 'NotificationTest' }
)
export type TestResult = Static<typeof TestResult>
