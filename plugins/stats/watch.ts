// A rule's stats as they come: one at once, then one every 5 s, and a word when the rule goes.
import { Fault } from '../../kernel/base/errors.ts'
import type { ServerEvent } from '../../kernel/http/stream-route.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { ruleNotFound } from '../rules/exports.ts'
import type { RuleStats } from './schema.ts'

const everyMs = 5_000

export type Watch = ReturnType<typeof openWatch>

export function openWatch({ clock }: Pick<Kernel, 'clock'>) {
  const watched = new Map<string, Set<() => void>>()

  /** Until `gone`. `read` is asked for each event; the first answer is `first`. */
  async function* events(
    ruleId: string,
    first: RuleStats,
    read: () => Promise<RuleStats>,
    gone: AbortSignal
  ): AsyncGenerator<ServerEvent<RuleStats | { readonly rule_id: string }>> {
    for (let data: RuleStats | null = first; !gone.aborted; data = await orGone(read)) {
      if (data) yield { event: 'stats', data }
      else return yield { event: 'removed', data: { rule_id: ruleId } }
      await tick(ruleId, gone)
    }
  }

  function tick(ruleId: string, gone: AbortSignal): Promise<void> {
    const mine = watched.get(ruleId) ?? new Set()
    return new Promise(resolve => {
      const end = (): void => {
        cancel()
        gone.removeEventListener('abort', end)
        mine.delete(end)
        if (mine.size === 0) watched.delete(ruleId)
        resolve()
      }
      const cancel = clock.after(everyMs, end)
      gone.addEventListener('abort', end)
      watched.set(ruleId, mine.add(end))
    })
  }

  /** Whoever watches it looks at once. */
  const wake = (ruleId: string): void => {
    for (const end of [...(watched.get(ruleId) ?? [])]) end()
  }

  return { events, wake }
}

async function orGone(read: () => Promise<RuleStats>): Promise<RuleStats | null> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof Fault && error.errorCode === ruleNotFound) return null
    throw error
  }
}
