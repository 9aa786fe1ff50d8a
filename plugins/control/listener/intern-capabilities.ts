import type { AgentCapabilities } from '../../../kernel/control/peers.ts'

type Capabilities = AgentCapabilities['capabilities']

const maxInterned = 100 // distinct capabilities; further ones are not shared

/** Returns a function that interns capabilities: all agents of a version announce the same, and share one object. */
export function openInternCapabilities(): (capabilities: Capabilities) => Capabilities {
  const interned = new Map<string, Capabilities>()
  return capabilities => {
    const key = JSON.stringify(capabilities)
    const known = interned.get(key)
    if (known !== undefined || interned.size >= maxInterned) return known ?? capabilities
    interned.set(key, capabilities)
    return capabilities
  }
}
