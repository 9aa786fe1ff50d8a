import type { Static } from 'typebox'
import { newId } from '../../kernel/platform/id.ts'
import { type Hello, protocolVersion } from '../../kernel/wire/control.ts'
import { type AgentPlugin, capabilitiesOf } from '../plugin.ts'
import { severalEndpoints } from '../wire/endpoints.ts'

/** Hello without the token. */
export type HelloBody = Omit<Static<typeof Hello.body>, 'token'>

/**
 * Builds the body of Hello for the streams of one process, with the capabilities of the current plugins. The instance id
 * lets the server tell a reconnect from a second agent with the same bundle.
 */
export function openHello(plugins: () => readonly AgentPlugin[], version: string) {
  const constant = { agent_version: version, protocol_version: protocolVersion, instance_id: newId() }
  const own = { [severalEndpoints.id]: severalEndpoints.since }
  return (state_digest: string): HelloBody => ({
    ...constant,
    capabilities: { versions: Object.assign({}, own, ...plugins().map(capabilitiesOf)) },
    state_digest
  })
}
