// The shares and ejections of the targets of rules, as plugins set them. In memory: after a restart all targets are in
// service until a plugin decides again.
import { isDeepStrictEqual } from 'node:util'
import type { EngineTarget } from '../engine/engine.ts'
import type { RuleSpec, TargetEvent, TargetShare, TargetStanding } from './contract.ts'

const inService: TargetStanding = { share: 1, ejection: null, ejections: 0 }

export class TargetShares {
  readonly #emit: (event: TargetEvent) => void
  readonly #rules = new Map<string, ReadonlyMap<string, TargetStanding>>() // by rule id, by target

  constructor(emit: (event: TargetEvent) => void) {
    this.#emit = emit
  }

  /** Sets the shares of the rule's targets. Emits events for ejections that start, change or end. */
  set(rule: RuleSpec, shares: readonly TargetShare[]): void {
    const before = this.of(rule)
    const after = before.map((standing, at) => nextStanding(standing, shares[at] ?? 1))
    this.#rules.set(
      rule.id,
      new Map(rule.targets.map((target, at) => [nameOf(target), after[at] ?? inService]))
    )
    for (const [target, { ejection, share }] of after.entries()) {
      const was = before[target]?.ejection ?? null
      if (isDeepStrictEqual(ejection, was)) continue
      if (ejection) this.#emit({ kind: 'target-ejected', rule, target, ...ejection })
      else if (was) this.#emit({ kind: 'target-returned', rule, target, reason: was.reason, share })
    }
  }

  /** Returns the standings of the rule's targets, in their order. */
  of({ id, targets }: Pick<RuleSpec, 'id' | 'targets'>): TargetStanding[] {
    const known = this.#rules.get(id)
    return targets.map(target => known?.get(nameOf(target)) ?? inService)
  }

  /** Returns the shares for the engine. */
  numbers = (rule: Pick<RuleSpec, 'id' | 'targets'>): number[] => this.of(rule).map(({ share }) => share)

  has = (ruleId: string): boolean => this.#rules.has(ruleId)
  forget = (ruleId: string): void => void this.#rules.delete(ruleId)
}

function nextStanding({ ejection: was, ejections }: TargetStanding, share: TargetShare): TargetStanding {
  if (typeof share === 'number') return { share, ejection: null, ejections }
  return { share: 0, ejection: share, ejections: isDeepStrictEqual(was, share) ? ejections : ejections + 1 }
}

const nameOf = ({ host, port }: EngineTarget): string => `${host} ${port}`
