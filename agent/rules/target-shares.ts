// The shares and ejections of rule targets, as plugins set them. They are not saved: after a restart, each target has its
// whole weight until a plugin calls `setShares` again.
import { isDeepStrictEqual } from 'node:util'
import type { EngineTarget } from '../engine/engine.ts'
import type { RuleSpec, TargetEvent, TargetShare, TargetStanding } from './contract.ts'

const wholeWeight: TargetStanding = { share: 1, ejection: null, ejections: 0 }

export class TargetShares {
  readonly #emit: (event: TargetEvent) => void
  readonly #standings = new Map<string, ReadonlyMap<string, TargetStanding>>() // by rule id, then by target key

  constructor(emit: (event: TargetEvent) => void) {
    this.#emit = emit
  }

  /** Sets one share for each target, in their order. Emits an event for each ejection that starts, changes or ends. */
  set(rule: RuleSpec, shares: readonly TargetShare[]): void {
    const before = this.standings(rule)
    const after = before.map((standing, index) => nextStanding(standing, shares[index] ?? 1))
    this.#standings.set(
      rule.id,
      new Map(targetKeys(rule.targets).map((key, index) => [key, after[index] ?? wholeWeight]))
    )
    for (const [index, { ejection, share }] of after.entries()) {
      const previous = before[index]?.ejection ?? null
      if (isDeepStrictEqual(ejection, previous)) continue
      if (ejection) this.#emit({ kind: 'target-ejected', rule, target: index, ...ejection })
      else if (previous)
        this.#emit({ kind: 'target-returned', rule, target: index, reason: previous.reason, share })
    }
  }

  /** Returns the standings of the rule's targets, in their order. */
  standings({ id, targets }: Pick<RuleSpec, 'id' | 'targets'>): TargetStanding[] {
    const known = this.#standings.get(id)
    return targetKeys(targets).map(key => known?.get(key) ?? wholeWeight)
  }

  /** Returns the shares as numbers; 0 for an ejected target. */
  engineShares = (rule: Pick<RuleSpec, 'id' | 'targets'>): number[] =>
    this.standings(rule).map(({ share }) => share)

  has = (ruleId: string): boolean => this.#standings.has(ruleId)
  delete = (ruleId: string): void => void this.#standings.delete(ruleId)
}

function nextStanding({ ejection: previous, ejections }: TargetStanding, share: TargetShare): TargetStanding {
  if (typeof share === 'number') return { share, ejection: null, ejections }
  const isNew = !isDeepStrictEqual(previous, share)
  return { share: 0, ejection: share, ejections: isNew ? ejections + 1 : ejections }
}

/** Targets with the same host and port differ in a property of a plugin. Their order distinguishes them here. */
function targetKeys(targets: readonly EngineTarget[]): string[] {
  const seen = new Map<string, number>()
  return targets.map(({ host, port }) => {
    const place = `${host} ${port}`
    const earlier = seen.get(place) ?? 0
    seen.set(place, earlier + 1)
    return `${place} ${earlier}`
  })
}
