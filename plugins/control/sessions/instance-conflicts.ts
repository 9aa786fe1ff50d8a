// Detects two machines with one bundle, which would take the session from each other endlessly.
import type { Peer } from '../../../kernel/control/peers.ts'
import type { Kernel } from '../../../kernel/plugin.ts'

interface Swaps {
  readonly times: readonly number[] // ms by the monotonic clock, of the last minute
  readonly warnedAt: number
}

type Agent = Pick<Peer, 'clientId' | 'instanceId' | 'remoteAddr'>

const minuteMs = 60_000
const maxSwapsAMinute = 5

export interface InstanceConflicts {
  /** Records that another process has taken the session. Returns true after more than 5 times in a minute. */
  isConflict(older: Agent, newer: Agent): boolean
  /** Forgets clients without a swap in the last minute. */
  sweep(): void
}

export function openInstanceConflicts({ clock, log }: Pick<Kernel, 'clock' | 'log'>): InstanceConflicts {
  const swaps = new Map<string, Swaps>()

  function isConflict(older: Agent, { clientId, instanceId, remoteAddr }: Agent): boolean {
    if (older.instanceId === instanceId) return false
    const now = clock.monotonic()
    const { times, warnedAt } = swaps.get(clientId) ?? { times: [], warnedAt: Number.NEGATIVE_INFINITY }
    const recent = [...times.filter(at => at > now - minuteMs), now]
    const isTooMuch = recent.length > maxSwapsAMinute
    const warns = isTooMuch && warnedAt <= now - minuteMs
    swaps.set(clientId, { times: recent, warnedAt: warns ? now : warnedAt })
    if (warns)
      log.warn('client.instance_conflict', 'two agents with one bundle take the stream from each other', {
        client_id: clientId,
        instance_ids: [older.instanceId, instanceId],
        remote_addrs: [older.remoteAddr, remoteAddr]
      })
    return isTooMuch
  }

  function sweep(): void {
    for (const [clientId, { times }] of swaps)
      if ((times.at(-1) ?? Number.NEGATIVE_INFINITY) <= clock.monotonic() - minuteMs) swaps.delete(clientId)
  }

  return { isConflict, sweep }
}
