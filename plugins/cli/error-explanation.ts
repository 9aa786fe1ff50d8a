import type { ErrorCode } from '../../kernel/base/errors.ts'
import { defineSlot } from '../../kernel/slot.ts'

/** The text of `sluice explain-error` and the reference page about a code of an external plugin. */
export interface ErrorExplanation {
  readonly code: ErrorCode
  readonly when: string // a clause, such as 'the rule is not a TCP rule'
  readonly remedy: string // such as 'omit the field, or create a TCP rule'
}

export const errorExplanationSlot = defineSlot<ErrorExplanation>('cli.errorExplanation', {
  ifOwnerMissing: 'inert',
  keyOf: ({ code }) => code.code
})
