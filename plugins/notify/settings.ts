// The section [plugins.notify] of the configuration.
import { type Static, Type } from 'typebox'
import { closed } from '../../kernel/http/schema.ts'

export const maxChannels = 16

const text = (description: string, options: object = {}) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 2048, description, ...options }))

const Channel = closed({
  type: Type.Union(
    [
      Type.Literal('webhook'),
      Type.Literal('smtp'),
      Type.Literal('slack'),
      Type.Literal('discord'),
      Type.Literal('telegram'),
      Type.Literal('ntfy'),
      Type.Literal('gotify')
    ],
    { description: 'How messages are sent.' }
  ),
  kinds: Type.Optional(
    Type.Array(Type.String({ pattern: '^[a-z][a-z0-9_]{0,31}$' }), {
      minItems: 1,
      maxItems: 64,
      description: 'Kinds that go to this channel. Default: all.'
    })
  ),
  user: text('Sends only what this user may see.', { pattern: '^[a-z][a-z0-9_-]{0,31}$' }),
  url: text('Destination; its form depends on the type.'),
  to: Type.Optional(
    Type.Union([Type.String(), Type.Array(Type.String(), { minItems: 1, maxItems: 32 })], {
      description: 'Mail addresses of the recipients, for smtp.'
    })
  ),
  from: text('Mail address of the sender, for smtp.'),
  chat: text('Chat id or @channel, for telegram.'),
  secret_file: text(
    'Absolute path of a file with the secret in its first line. Only its owner may read it.',
    {
      pattern: '^/'
    }
  )
})
export type ChannelConfig = Static<typeof Channel>

export const config = Type.Object({
  grace_secs: Type.Integer({
    minimum: 0,
    maximum: 86_400,
    default: 180,
    hot: true,
    description: 'How long a client may be away before it is reported.'
  }),
  channels: Type.Record(Type.String(), Channel, {
    default: {},
    hot: true,
    description: 'Destinations of notifications, by name.'
  })
})
export type Config = Static<typeof config>
