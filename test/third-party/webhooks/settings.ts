// The configuration section of the plugin: [plugins."./webhooks"].
import { type Static, Type } from 'sluice/plugin'

export const EventName = Type.Union([
  Type.Literal('client.connected'),
  Type.Literal('client.disconnected'),
  Type.Literal('rule.failed'),
  Type.Literal('quota.warning'),
  Type.Literal('quota.exhausted')
])
export type EventName = Static<typeof EventName>

const closed = { additionalProperties: false } as const

const Endpoint = Type.Object(
  {
    name: Type.String({
      pattern: '^[a-z][a-z0-9-]{0,31}$',
      description: 'Name in routes, logs and metrics.'
    }),
    url: Type.String({
      pattern: '^https?://',
      maxLength: 2048,
      description: 'Plain http needs allow_private.'
    }),
    secret_file: Type.Optional(
      Type.String({
        pattern: '^/',
        description: 'Absolute path of the file with the secret, readable only by its owner.'
      })
    ),
    secret_env: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z_][A-Za-z0-9_]*$',
        description: 'Name of the environment variable with the secret.'
      })
    ),
    events: Type.Array(EventName, {
      minItems: 1,
      default: EventName.anyOf.map(literal => literal.const),
      description: 'Events for this endpoint; default: all.'
    }),
    allow_private: Type.Boolean({
      default: false,
      description: 'Allows addresses on this machine and in private networks, and plain http.'
    })
  },
  closed
)

export const config = Type.Object({
  endpoints: Type.Array(Endpoint, { default: [], maxItems: 16, description: 'Receivers of events.' })
})
export type Config = Static<typeof config>
export type EndpointConfig = Config['endpoints'][number]
