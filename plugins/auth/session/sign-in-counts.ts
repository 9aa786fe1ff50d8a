import { type ErrorCode, Fault, internal } from '../../../kernel/base/errors.ts'
import { increment, samplesOf } from '../../../kernel/base/metric.ts'
import type { Metrics } from '../../../kernel/metrics.ts'
import type { Refusal } from '../steps/steps.ts'

/** Counts sign-ins of this server by method and outcome, for its metrics. */
export interface SignInCounts {
  count(method: string, outcome: 'ok' | ErrorCode): void
  /** Counts the outcome of a sign-in with a password; the demand of a further step is none. Throws a refusal that `work` returns. */
  judged<T extends object>(work: () => Promise<T | Refusal>): Promise<T>
  readonly metrics: Metrics
}

export function openSignInCounts(): SignInCounts {
  const counts = new Map<string, number>()

  const count: SignInCounts['count'] = (method, outcome) =>
    increment(counts, `${method} ${outcome === 'ok' ? outcome : outcome.code}`)

  return {
    count,

    async judged(work) {
      const made = await work().catch((error: unknown) => {
        count('password', codeOf(error))
        throw error
      })
      if (isRefusal(made)) {
        if (!made.isDemand) count('password', made.refusal.errorCode)
        throw made.refusal
      }
      count('password', 'ok')
      return made
    },

    metrics: async () => [
      {
        name: 'svc_sign_ins_total',
        type: 'counter',
        help: 'Sign-ins by method and outcome: ok, or the code of the refusal.',
        labels: ['method', 'outcome'],
        samples: samplesOf(counts)
      }
    ]
  }
}

const codeOf = (error: unknown): ErrorCode => (error instanceof Fault ? error.errorCode : internal)

const isRefusal = (made: object): made is Refusal => 'refusal' in made
