import type { EntityManager } from '@mikro-orm/sql'
import type { ErrorCode } from '../../../kernel/base/errors.ts'
import type { RequestInfo, Role } from '../../../kernel/http/principal.ts'
import { defineSlot } from '../../../kernel/slot.ts'

/**
 * A further step of a sign-in with a password, such as a second factor. Its functions run in the transaction of the
 * sign-in; errors that they throw roll it back.
 */
export interface SignInStep {
  readonly name: string // kebab-case; clients see it as `step`
  readonly prompts: Readonly<Record<string, StepPrompt>> // by method: asks for the answer, like 'Code of your authenticator app'
  readonly route?: StepRoute // default: POST /v1/auth/step
  readonly errors?: readonly ErrorCode[] // thrown by its functions, for OpenAPI; default: all codes of the plugin
  /** Returns what this user must answer before the session opens, or null for nothing. */
  demand(user: StepUser, requestInfo: RequestInfo, em: EntityManager): Promise<StepDemand | null>
  /** Returns false for a wrong answer; what it wrote is kept. An error with HTTP status 401 counts as a wrong answer, too. */
  verify(given: StepAnswer, user: StepUser, em: EntityManager): Promise<boolean>
}

/** The plugin's own route for the answer, which calls `signIn.answer`; it names its refusals itself. */
export interface StepRoute {
  readonly url: string // 'POST /v1/auth/second-factor'
  readonly required: ErrorCode // instead of `step_required`; `details` have only `challenge`, `methods` and `expires_at`
  readonly failed: ErrorCode // instead of `step_failed` and `step_expired`
}

export interface StepPrompt {
  readonly en: string
  readonly de?: string
}

export interface StepUser {
  readonly userId: string
  readonly displayName: string
  readonly role: Role
}

export interface StepDemand {
  readonly methods: readonly string[] // keys of `prompts`: how the user can answer, the default first
  readonly data?: Readonly<Record<string, unknown>> // for the form, such as the challenge of a passkey; the client sees it
}

export interface StepAnswer {
  readonly method: string // one of the demand's
  readonly answer: string // as given, at most 4096 characters
}

export const stepSlot = defineSlot<SignInStep>('auth.step', { keyOf: ({ name }) => name })
