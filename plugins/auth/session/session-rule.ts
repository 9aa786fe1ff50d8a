import type { EntityManager } from '@mikro-orm/sql'
import type { Role } from '../../../kernel/http/principal.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { defineSlot } from '../../../kernel/slot.ts'

export interface SessionFacts {
  readonly userId: string
  readonly role: Role
  readonly factors: readonly string[] // that the user has proved in this session
}

/** The demands of a plugin on sessions. */
export interface SessionRule {
  /** How long a session is fresh after the proof of a factor. From then on, routes with `needsFresh` refuse it. */
  readonly freshMs: number
  /** Returns the only actions that the session may call until its user has a second factor; null: no limit. */
  enrollmentActions(session: SessionFacts, em: EntityManager): Promise<readonly string[] | null>
}

export const sessionRuleSlot = defineSlot<SessionRule>('auth.session-rule')

/** The rules of all plugins. */
export interface SessionRules {
  /** Returns when a session stops being fresh, by `Clock.steady`; null: it always is. */
  freshUntil(session: { readonly freshAt: number }): number | null
  /** Returns the result of the first rule that limits the session. */
  enrollmentActions(session: SessionFacts, em: EntityManager): Promise<readonly string[] | null>
}

export function openSessionRules({ filled }: Pick<Kernel, 'filled'>): SessionRules {
  const rules = (): readonly SessionRule[] => filled(sessionRuleSlot).map(({ value }) => value)

  return {
    freshUntil({ freshAt }) {
      const freshMs = Math.min(...rules().map(rule => rule.freshMs))
      return freshMs === Infinity ? null : freshAt + freshMs
    },
    async enrollmentActions(session, em) {
      for (const rule of rules()) {
        const actions = await rule.enrollmentActions(session, em)
        if (actions) return actions
      }
      return null
    }
  }
}
