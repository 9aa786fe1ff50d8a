// The kind `targets_failed` of notifications: callers of the rule reach no target.
import type { EntityManager } from '@mikro-orm/sql'
import type { Kernel } from '../../kernel/plugin.ts'
import type { NoticeSource, Notices } from '../http/exports.ts'
import type { RuleScope } from '../rules/exports.ts'
import type { RuleHealth } from './wire.ts'

type Targets = RuleHealth['targets']

export interface JudgedRule {
  readonly id: string
  readonly scope: Pick<RuleScope, 'owner' | 'name' | 'listenFrom'>
  readonly targets: Targets
  readonly isNew: boolean // the first report in this session
  readonly before: boolean // whether all targets had failed
}

export interface TargetNotice {
  readonly source: NoticeSource
  /** Reports rules without a working target since the last report, and ends this state for others. */
  judge(rules: readonly JudgedRule[]): Promise<void>
  forget(rule: { readonly id: string }, em: EntityManager): Promise<void>
}

export function openTargetNotice({ store, clock }: Pick<Kernel, 'store' | 'clock'>): TargetNotice {
  let notices: Notices | null = null // without the plugin `notify`
  return {
    source: {
      isUrgent: true,
      summarize: count =>
        count === 1 ? 'all targets of 1 rule have failed' : `all targets of ${count} rules have failed`,
      connect(connected) {
        notices = connected
      }
    },
    async judge(rules) {
      const connected = notices
      if (!connected) return
      const now = clock.now()
      const changed = rules.filter(
        ({ targets, isNew, before }) => isNew || before !== haveFailed(targets, now)
      )
      const known = changed.filter(
        ({ targets, isNew }) => !isNew || haveFailed(targets, now) || isHealthy(targets)
      )
      if (known.length === 0) return
      await store.change(async em => {
        for (const { id, scope, targets } of known) {
          const { owner, name, listenFrom } = scope
          if (haveFailed(targets, now))
            await connected.begin({ object: id, name: name ?? `port ${listenFrom}`, owner }, em)
          else await connected.end(id, em)
        }
      })
    },
    async forget({ id }, em) {
      await notices?.end(id, em)
    }
  }
}

/** True if each target has failed or is ejected. */
export const haveFailed = (targets: Targets, now: number): boolean =>
  targets.length > 0 &&
  targets.every(({ state, ejected_until_ms: until = 0 }) => state === 'failed' || until > now)

const isHealthy = (targets: Targets): boolean => targets.some(({ state }) => state === 'healthy')
