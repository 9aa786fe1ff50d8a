// The host's time since its start: it goes on between two runs of the agent, and nobody sets it.
import { readFileSync } from 'node:fs'
import { uptime } from 'node:os'

export interface Boot {
  readonly id: string // a new one at each start of the host
  /** Returns ms since the start, as the system tells it: up to `resolutionMs` less than it is. */
  upMs(): number
}

export const resolutionMs = 10

/** Undefined where the system does not tell one start of the host from another: outside Linux. */
export function hostBoot(): Boot | undefined {
  try {
    const id = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return { id, upMs: () => uptime() * 1000 }
  } catch {
    return undefined
  }
}
