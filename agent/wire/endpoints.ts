import { Type } from 'typebox'
import { type Capability, defineMessage, defineRequest } from '../../kernel/wire/message.ts'

const proto = new URL('./endpoints.proto', import.meta.url)

const EndpointsKept = defineMessage({ name: 'sluice.endpoints.EndpointsKept', proto, body: Type.Object({}) })

/** Where the agent can connect to. It keeps them, tries one after another, and last that of its enrollment. */
export const Endpoints = defineRequest({
  name: 'sluice.endpoints.Endpoints',
  proto,
  body: Type.Object({ endpoints: Type.Array(Type.String({ maxLength: 300 }), { maxItems: 32 }) }),
  response: EndpointsKept
})

/** The part of Welcome with Endpoints. Without it the agent keeps those that it has. */
export const welcomePart = 'endpoints'

/** Of an agent that connects to several endpoints. */
export const severalEndpoints: Capability = { id: 'endpoints', since: '1.0.0' }

export const messages = [Endpoints, EndpointsKept]
