// Streams the stats of a rule: one event at once, one every 5 s, and one when the rule is deleted.
import { Fault } from '../../kernel/base/errors.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { ServerEvent } from '../http/exports.ts'
import { ruleNotFound } from '../rules/exports.ts'
import type { RuleStats } from './schema.ts'

const everyMs = 5_000

export type StatsEvent = ServerEvent<RuleStats | { readonly rule_id: string }>

interface StatsStream {
  /** Ends with the rule or the request. Sends `first` at once and calls `read` for each later event. */
  events(
    ruleId: string,
    first: RuleStats,
    read: () => Promise<RuleStats>,
    signal: AbortSignal
  ): AsyncGenerator<StatsEvent>
  /** Makes all streams of the rule read it again now. */
  wake(ruleId: string): void
}

export function openStatsStream({ clock }: Pick<Kernel, 'clock'>): StatsStream {
  const watched = new Map<string, Set<() => void>>()

  async function* events(
    ruleId: string,
    first: RuleStats,
    read: () => Promise<RuleStats>,
    signal: AbortSignal
  ): AsyncGenerator<StatsEvent> {
    for (let data: RuleStats | null = first; !signal.aborted; data = await readOrNull(read)) {
      if (data) yield { event: 'stats', data }
      else return yield { event: 'removed', data: { rule_id: ruleId } }
      await nextRead(ruleId, signal)
    }
  }

  /** Resolves after 5 s, or earlier if `wake` is called or the request is aborted. */
  function nextRead(ruleId: string, signal: AbortSignal): Promise<void> {
    const watchers = watched.get(ruleId) ?? new Set()
    return new Promise(resolve => {
      const end = (): void => {
        cancel()
        signal.removeEventListener('abort', end)
        watchers.delete(end)
        if (watchers.size === 0) watched.delete(ruleId)
        resolve()
      }
      const cancel = clock.after(everyMs, end)
      signal.addEventListener('abort', end)
      watched.set(ruleId, watchers.add(end))
    })
  }

  const wake = (ruleId: string): void => {
    for (const end of [...(watched.get(ruleId) ?? [])]) end()
  }

  return { events, wake }
}

/** Returns null if the rule no longer exists. */
async function readOrNull(read: () => Promise<RuleStats>): Promise<RuleStats | null> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof Fault && error.errorCode === ruleNotFound) return null
    throw error
  }
}
