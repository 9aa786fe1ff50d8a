import { Type } from 'typebox'
import { type Capability, defineMessage, defineRequest } from '../../kernel/wire/message.ts'

const proto = new URL('./endpoints.proto', import.meta.url)

const EndpointsSaved = defineMessage({
  name: 'sluice.endpoints.EndpointsSaved',
  proto,
  body: Type.Object({})
})

/** The endpoints of the server. The agent saves them and tries one after another, the one of its enrollment last. */
export const Endpoints = defineRequest({
  name: 'sluice.endpoints.Endpoints',
  proto,
  body: Type.Object({ endpoints: Type.Array(Type.String({ maxLength: 300 }), { maxItems: 32 }) }),
  response: EndpointsSaved
})

/** The part of Welcome with Endpoints. Without it the agent continues with the saved ones. */
export const welcomePart = 'endpoints'

/** The agent can connect to several endpoints. */
export const severalEndpoints: Capability = { id: 'endpoints', since: '1.0.0' }

export const messages = [Endpoints, EndpointsSaved]
