// The settings, and the services that the parts of the plugin share.
import { type clients, type Kernel, type rules, type Secrets, Type, type users } from 'sluice/plugin'
import type { Delivery } from './delivery.ts'

const Origin = Type.String({ maxLength: 300, pattern: '^https?://[a-z0-9.:[\\]-]+$' })
const origins = 'Where notes may be sent: ["https://hooks.example.com"]. By default, nowhere.'
const offline = 'How long a client must be offline before users get a note.'
export const section = Type.Object({
  origins: Type.Array(Origin, { default: [], maxItems: 100, hot: true, description: origins }),
  offline_secs: Type.Integer({ default: 60, minimum: 1, maximum: 86_400, hot: true, description: offline })
})

export interface Deps extends Kernel<typeof section> {
  readonly clients: clients.Clients
  readonly delivery: Delivery
  readonly rules: rules.Rules
  readonly secrets: Secrets
  readonly users: users.Users
}
