import type { AgentCapabilities } from '../../../kernel/control/peers.ts'

type Capabilities = AgentCapabilities['capabilities']

const maxKept = 100 // kinds of agents; what more are has its own

/** Returns a function that gives equal capabilities as one object: all agents of a version announce the same. */
export function openInternCapabilities(): (capabilities: Capabilities) => Capabilities {
  const kept = new Map<string, Capabilities>()
  return capabilities => {
    const key = JSON.stringify(capabilities)
    const known = kept.get(key)
    if (known !== undefined || kept.size >= maxKept) return known ?? capabilities
    kept.set(key, capabilities)
    return capabilities
  }
}
