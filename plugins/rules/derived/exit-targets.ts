// The targets that the exits of paths may dial. The plugin that admits rules limits them; exits check them at every dial.
import type { EntityManager } from '@mikro-orm/sql'
import type { Kernel } from '../../../kernel/plugin.ts'
import type { RuleCore } from '../fields/rule-field.ts'
import { admitSlot, type ExitTargets, exitTargetsSlot, pathDenialSlot } from '../slots.ts'

/** The part of the service `rules` that plugins with paths need. */
export interface ExitTargetLimits {
  /**
   * Returns, by rule id, the targets that each exit of the rule may dial. A rule or an exit that is missing has no limit.
   * Without a plugin that admits rules of users, their exits may dial nothing.
   */
  exitTargets(rules: readonly RuleCore[], em: EntityManager): Promise<ReadonlyMap<string, ExitTargets>>
  /** Returns the clients on the paths of the rule that its owner may not use. */
  deniedClients(rule: RuleCore, em: EntityManager): Promise<ReadonlySet<string>>
}

export const openExitTargetLimits = ({ filled }: Pick<Kernel, 'filled'>): ExitTargetLimits => ({
  async exitTargets(rules, em) {
    const bound = rules.filter(rule => !rule.isExempt && exitsOf(rule).length > 0)
    if (bound.length === 0) return new Map()
    if (filled(admitSlot).length === 0) return new Map(bound.map(rule => [rule.id, deniedTargets(rule)]))
    const [limit] = filled(exitTargetsSlot)
    return limit ? limit.value(bound, em) : new Map()
  },
  async deniedClients(rule, em) {
    if (rule.isExempt) return new Set()
    if (filled(admitSlot).length === 0) return new Set(rule.targets.flatMap(({ path = [] }) => path))
    const [denial] = filled(pathDenialSlot)
    return new Set(denial ? await denial.value(rule, em) : [])
  }
})

/** Returns the clients that dial targets of the rule instead of its client. */
export const exitsOf = ({ targets }: Pick<RuleCore, 'targets'>): string[] => [
  ...new Set(targets.flatMap(({ path }) => path?.at(-1) ?? []))
]

const deniedTargets = (rule: RuleCore): ExitTargets => new Map(exitsOf(rule).map(id => [id, []]))
