// Detects two machines with one bundle, which would take the session from each other endlessly. From then on the session
// stays where it is, and other processes wait until it ends. A restarted agent finds no session, and joins at once.
import type { InstanceConflict, Peer } from '../../../kernel/control/peers.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { Refused } from '../../../kernel/wire/message.ts'
import { endMessages } from '../listener/end-stream.ts'

/** An agent process. */
type Agent = Pick<Peer, 'clientId' | 'instanceId' | 'remoteAddr'>

interface Contest {
  readonly times: readonly number[] // ms by the monotonic clock: when the session moved, in the last minute
  readonly lastAt: number // of the last attempt in a conflict
  readonly reportedAt: number
}

const minuteMs = 60_000
const maxSwapsAMinute = 5
const never = Number.NEGATIVE_INFINITY
const uncontested: Contest = { times: [], lastAt: never, reportedAt: never }

export interface InstanceConflicts {
  /** Records that another process has taken the session. Returns true after more than 5 times in a minute. */
  isConflict(older: Agent, newer: Agent): boolean
  /** Throws Refused if the session of `holder` is contested: during a conflict, and until a minute after it. */
  requireUncontested(newer: Agent, holder: Agent): void
  /** Forgets clients without a swap or an attempt in the last minute. */
  sweep(): void
}

interface Services extends Pick<Kernel, 'clock' | 'log'> {
  /** Called at most once a minute for each client. */
  readonly report: (conflict: InstanceConflict) => void
}

export function openInstanceConflicts({ clock, log, report }: Services): InstanceConflicts {
  const contests = new Map<string, Contest>()

  const find = (clientId: string): Contest => contests.get(clientId) ?? uncontested

  function recordAttempt(holder: Agent, { clientId, instanceId, remoteAddr }: Agent, now: number): void {
    const contest = find(clientId)
    const isReported = contest.reportedAt > now - minuteMs
    contests.set(clientId, { ...contest, lastAt: now, reportedAt: isReported ? contest.reportedAt : now })
    if (isReported) return
    const remoteAddrs = [holder.remoteAddr, remoteAddr]
    log.warn('client.instance_conflict', 'two agents with one bundle take the stream from each other', {
      client_id: clientId,
      instance_ids: [holder.instanceId, instanceId],
      remote_addrs: remoteAddrs
    })
    report({ clientId, remoteAddrs })
  }

  function isConflict(older: Agent, newer: Agent): boolean {
    if (older.instanceId === newer.instanceId) return false
    const now = clock.monotonic()
    const contest = find(newer.clientId)
    const times = [...contest.times.filter(at => at > now - minuteMs), now].slice(-maxSwapsAMinute - 1)
    contests.set(newer.clientId, { ...contest, times })
    if (times.length <= maxSwapsAMinute) return false
    recordAttempt(older, newer, now)
    return true
  }

  function requireUncontested(newer: Agent, holder: Agent): void {
    if (newer.instanceId === holder.instanceId) return
    const now = clock.monotonic()
    if (find(newer.clientId).lastAt <= now - minuteMs) return
    recordAttempt(holder, newer, now)
    throw new Refused('instance_conflict', endMessages.instance_conflict)
  }

  function sweep(): void {
    const since = clock.monotonic() - minuteMs
    for (const [clientId, { times, lastAt }] of contests)
      if (Math.max(times.at(-1) ?? never, lastAt) <= since) contests.delete(clientId)
  }

  return { isConflict, requireUncontested, sweep }
}
