// The uptime of the host. It continues between two runs of the agent, and nobody can set it.
import { readFileSync } from 'node:fs'
import { uptime } from 'node:os'

export interface HostBoot {
  readonly id: string // changes with each boot
  /** Returns the uptime in ms as the system reports it: up to `uptimeResolutionMs` too low. */
  upMs(): number
}

export const uptimeResolutionMs = 10

/** Returns undefined where the system does not identify its boots: outside Linux. */
export function hostBoot(): HostBoot | undefined {
  try {
    const id = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return { id, upMs: () => uptime() * 1000 }
  } catch {
    return undefined
  }
}
