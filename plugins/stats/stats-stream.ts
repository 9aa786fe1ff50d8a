// The stats of a rule as events: one at once, then one every 5 s, and one when the rule is deleted.
import { Fault } from '../../kernel/base/errors.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import type { ServerEvent } from '../http/exports.ts'
import { ruleNotFound } from '../rules/exports.ts'
import type { RuleStats } from './schema.ts'

const everyMs = 5_000

export function openWatch({ clock }: Pick<Kernel, 'clock'>) {
  const watched = new Map<string, Set<() => void>>()

  /** Ends with the rule or the request. `first` is sent at once; `read` is called for each later event. */
  async function* events(
    ruleId: string,
    first: RuleStats,
    read: () => Promise<RuleStats>,
    signal: AbortSignal
  ): AsyncGenerator<ServerEvent<RuleStats | { readonly rule_id: string }>> {
    for (let data: RuleStats | null = first; !signal.aborted; data = await readOrNull(read)) {
      if (data) yield { event: 'stats', data }
      else return yield { event: 'removed', data: { rule_id: ruleId } }
      await nextRead(ruleId, signal)
    }
  }

  /** Resolves after 5 s, or earlier when the rule is woken or the request aborted. */
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

  /** Makes all watchers of the rule read it again now. */
  const wake = (ruleId: string): void => {
    for (const end of [...(watched.get(ruleId) ?? [])]) end()
  }

  return { events, wake }
}

/** Returns null if the rule was deleted. */
async function readOrNull(read: () => Promise<RuleStats>): Promise<RuleStats | null> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof Fault && error.errorCode === ruleNotFound) return null
    throw error
  }
}
