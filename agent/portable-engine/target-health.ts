// Which targets of a rule are worth a try, by how the last tries went.
import type { EngineEvent, EngineRule, Health, TargetCounters } from '../engine.ts'

const failuresToFail = 3
const failuresWithinMs = 30_000
const retryMs = 10_000
const successesToHeal = 2

/** A try at one target; exactly one of these is said, once. */
export interface Attempt {
  readonly index: number
  succeeded(): void
  failed(reason: string): void
  /** It ended for reasons that say nothing about the target. */
  abandoned(): void
}

export interface TargetsHealth {
  /**
   * Failover order, each judged when its turn comes: what is failed is left out, unless all are. A flow learns too
   * late that its target is gone to try another: of failed ones it takes the one that failed longest ago.
   */
  attempts(): Iterable<Attempt>
  /** A try that nobody waits for. */
  probe(index: number): Attempt
}

type Row = { -readonly [K in keyof TargetCounters]: TargetCounters[K] }
type Emit = (event: EngineEvent) => void

/** Keeps `rows`, which are the counters of the rule's targets. */
export function openHealth(
  { id: ruleId, protocol }: Pick<EngineRule, 'id' | 'protocol'>,
  rows: readonly Row[],
  emit: Emit,
  now = () => performance.now()
): TargetsHealth {
  const targets = rows.map((row, target) =>
    openTarget(row, now, change => emit({ kind: 'target-health', ruleId, target, ...change }))
  )
  const begin = (index: number, target: Target): Attempt => ({ index, ...target.begin() })
  return {
    *attempts() {
      const isDesperate = targets.every(target => target.isFailed())
      const order = [...targets.entries()]
      if (isDesperate && protocol === 'udp') order.sort(([, a], [, b]) => a.retryAt() - b.retryAt())
      for (const [index, target] of order) if (isDesperate || target.mayTry()) yield begin(index, target)
    },
    probe(index) {
      const target = targets[index]
      if (!target) throw new TypeError(`target ${index} is not of this rule`)
      return begin(index, target)
    }
  }
}

interface Target {
  isFailed(): boolean
  mayTry(): boolean
  /** Some time after its last failure; 0 when it has succeeded since. */
  retryAt(): number
  begin(): Omit<Attempt, 'index'>
}

interface Change {
  readonly from: Health
  readonly to: Health
  readonly reason: string
}

function openTarget(row: Row, now: () => number, onChange: (change: Change) => void): Target {
  const isFailed = () => row.health === 'failed'
  let failures: number[] = [] // when: the last few in a row
  let successes = 0 // in a row, of a failed one
  let retryAt = 0
  let tries = 0 // under way

  const become = (to: Health, reason: string) => {
    const from = row.health
    row.health = to
    if (from !== to) onChange({ from, to, reason })
  }
  const succeeded = () => {
    row.lastSuccessAt = Date.now()
    row.consecutiveFailures = 0
    failures = []
    retryAt = 0
    if (isFailed() && ++successes < successesToHeal) return
    become('healthy', 'connected')
  }
  const failed = (reason: string) => {
    const at = now()
    row.lastFailureAt = Date.now()
    row.consecutiveFailures++
    successes = 0
    retryAt = at + retryMs
    failures = [...failures, at].slice(-failuresToFail)
    const [oldest = at] = failures
    if (failures.length === failuresToFail && at - oldest <= failuresWithinMs) become('failed', reason)
  }

  return {
    isFailed,
    mayTry: () => !isFailed() || (tries === 0 && now() >= retryAt),
    retryAt: () => retryAt,
    begin() {
      tries++
      const ends = (then: () => void) => {
        tries--
        then()
      }
      return {
        succeeded: () => ends(succeeded),
        failed: reason => ends(() => failed(reason)),
        abandoned: () => ends(() => {})
      }
    }
  }
}
