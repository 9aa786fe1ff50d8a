// Runs the steps of a plan. A refused step does not stop the others.
import { ackTimeout, Fault } from '../../kernel/base/errors.ts'
import type { Step } from './plan.ts'
import { prefixFault } from './prefix-fault.ts'

export interface StepReport {
  readonly step: Step
  /** pending: the server has the change, a client does not. skipped: a step of the same scope was refused. */
  readonly result: 'done' | 'pending' | 'refused' | 'skipped'
  readonly reason: string // '' for done
  readonly fault?: Fault // of a refused step
}

interface Hooks {
  /** Throws if the run must end. */
  beforeStep(): Promise<void>
  /** Called once for each step. */
  report(report: StepReport): void
}

/**
 * Runs the steps in order. A step that conflicts with an object of a later step runs again after the others. Throws a Fault
 * that would refuse every step, such as `unauthenticated` or `store_unavailable`.
 */
export async function runPlan(steps: readonly Step[], { beforeStep, report }: Hooks): Promise<void> {
  const refusedScopes = new Set<string>()
  let waiting = steps
  let hasProgress = true
  while (waiting.length > 0) {
    const conflicts: StepReport[] = []
    for (const step of waiting) {
      await beforeStep()
      const outcome: StepReport =
        step.verb === 'delete' && refusedScopes.has(step.scope)
          ? { step, result: 'skipped', reason: 'another step there was refused' }
          : await runStep(step)
      if (outcome.result === 'refused' && hasProgress && isConflict(outcome.fault)) conflicts.push(outcome)
      else {
        if (outcome.result === 'refused') refusedScopes.add(step.scope)
        report(outcome)
      }
    }
    hasProgress = conflicts.length < waiting.length
    waiting = conflicts.map(({ step }) => step)
  }
}

async function runStep(step: Step): Promise<StepReport> {
  try {
    const unsettled = await step.run()
    return { step, result: unsettled === null ? 'done' : 'pending', reason: unsettled ?? '' }
  } catch (error) {
    if (!(error instanceof Fault) || endsRun(error)) throw prefixFault(`${step.verb} ${step.label}`, error)
    const { code } = error.errorCode
    const reason = `${code}: ${error.message}`
    return code === ackTimeout.code
      ? { step, result: 'pending', reason }
      : { step, result: 'refused', reason, fault: error }
  }
}

/** A later step would meet the same fault. */
const endsRun = ({ errorCode: { code, http } }: Fault): boolean =>
  http === 401 || http === 429 || (http >= 500 && code !== ackTimeout.code)

/** A rule that its client refused is stored as failed: another create would only conflict with it. */
const isConflict = (fault: Fault | undefined): boolean =>
  fault?.errorCode.http === 409 && fault.details?.['rule_state'] !== 'failed'
