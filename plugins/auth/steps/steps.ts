import type { EntityManager } from '@mikro-orm/sql'
import { timestamp } from '../../../kernel/base/clock.ts'
import { type ErrorCode, Fault, startupInvalid } from '../../../kernel/base/errors.ts'
import type { RequestInfo } from '../../../kernel/http/principal.ts'
import type { Call, FieldChange } from '../../../kernel/http/route.ts'
import type { User } from '../../../kernel/identity/entities.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import type { SlotReader } from '../../../kernel/slot.ts'
import type { NamedResource } from '../../http/exports.ts'
import { stepRequired } from '../codes.ts'
import type { SessionRules } from '../session/session-rule.ts'
import type { Sessions } from '../session/sessions.ts'
import { type SignInStep, type StepDemand, type StepPrompt, type StepUser, stepSlot } from './step-slot.ts'
import { type Tickets, ticketMs } from './tickets.ts'

interface Deps extends Pick<Kernel, 'clock' | 'filled'> {
  readonly sessions: Sessions
  readonly sessionRules: SessionRules
  readonly tickets: Tickets
}

/** A sign-in with the right password and right answers to the `passed` steps. */
interface Proven {
  readonly user: User
  readonly keyHash: string | null
  readonly requestInfo: RequestInfo
  readonly passed: readonly string[]
  readonly factors: readonly string[] // password, and the methods of the answers
}

/** The result that a change of a sign-in has committed: a session, or a refusal of the request. */
export type Progress = Opened | Refusal
export interface Opened {
  readonly token: string // value of the session cookie
  readonly factors: readonly string[]
  readonly isEnrollmentRequired: boolean // the session can do little except set up a second factor
}
export interface Refusal {
  readonly refusal: Fault
  readonly isDemand?: true // of the next step, after a right answer
}

export interface Steps {
  /** Opens the session, unless a step demands an answer: then issues a ticket for it, and refuses with `step_required`. */
  proceed(em: EntityManager, proven: Proven): Promise<Progress>
  /** Returns undefined if no plugin has the step any more. */
  find(name: string): SignInStep | undefined
  /** Throws `startup.config_invalid` for a step with a wrong name. */
  check(): void
}

export function openSteps({ clock, filled, sessions, sessionRules, tickets }: Deps): Steps {
  const steps = (): readonly SignInStep[] => filled(stepSlot).map(({ value }) => value)

  async function refuse(
    em: EntityManager,
    { name, prompts: texts, route }: SignInStep,
    { methods, data }: StepDemand,
    { user, requestInfo: { remoteAddr }, keyHash, passed, factors }: Proven
  ): Promise<Progress> {
    const shown = methods.map(method => [method, promptOf(name, texts, method)] as const)
    const [first] = shown
    if (!first) throw new TypeError(`the step ${name} demands an answer, but names no method`)
    const proved = { userId: user.id, remoteAddr, keyHash, passed, factors }
    const ticket = await tickets.issue(em, { ...proved, step: name, methods })
    const { required = stepRequired, url = 'POST /v1/auth/step' } = route ?? {}
    const message = `the sign-in needs a further step: ${first[1].en}; answer it with ${url}`
    const expires_at = timestamp(clock.now() + ticketMs)
    const prompts = Object.fromEntries(shown)
    const generic = { step: name, methods, prompts, ticket, expires_at, ...(data && { data }) }
    const details = route ? { challenge: ticket, methods, expires_at } : generic
    return { refusal: new Fault(required, message, { details }), isDemand: true }
  }

  async function openSession(em: EntityManager, proven: Proven): Promise<Opened> {
    const { user, keyHash, factors, requestInfo } = proven
    const { id: userId, role } = user
    const { remoteAddr } = requestInfo
    return {
      token: await sessions.open(em, { userId, remoteAddr, keyHash, factors }),
      factors,
      isEnrollmentRequired: (await sessionRules.enrollmentActions({ userId, role, factors }, em)) !== null
    }
  }

  return {
    async proceed(em, proven) {
      const { user, requestInfo, passed } = proven
      for (const step of steps().filter(({ name }) => !passed.includes(name))) {
        const demand = await step.demand(stepUser(user), requestInfo, em)
        if (demand) return refuse(em, step, demand, proven)
      }
      return openSession(em, proven)
    },
    find: name => steps().find(step => step.name === name),
    check() {
      const wrong = steps().find(({ name }) => !/^[a-z][a-z0-9-]{0,31}$/.test(name))
      if (wrong)
        throw new Fault(
          startupInvalid,
          `auth.step: the name ${JSON.stringify(wrong.name)} must be kebab-case, with at most 32 characters`
        )
    }
  }
}

function promptOf(step: string, prompts: SignInStep['prompts'], method: string): Required<StepPrompt> {
  const { en, de = en } = prompts[method] ?? {}
  if (en === undefined || de === undefined)
    throw new TypeError(`the step ${step} demands the method ${method}, for which it has no prompt`)
  return { en, de }
}

export const stepUser = ({ id, displayName, role }: User): StepUser => ({ userId: id, displayName, role })

/** Returns the errors of all steps, for the routes of the sign-in. */
export const stepErrors = (filled: SlotReader): readonly ErrorCode[] =>
  filled(stepSlot).flatMap(({ value, codes = [] }) => value.errors ?? codes)

const signedInBy = ({ factors }: Opened): readonly FieldChange[] => [
  { field: 'method', from: null, to: 'password' },
  { field: 'factors', from: null, to: factors }
]

/**
 * Runs a change of the user's sign-in. A refusal is recorded with the user's name, because the password was right: in the
 * same transaction if `work` returns it, else in another one, with `onRefused`.
 */
export async function changeSignIn(
  { change }: Pick<Call, 'change'>,
  userId: string,
  work: (em: EntityManager) => Promise<Progress>,
  onRefused?: (em: EntityManager) => Promise<unknown>
): Promise<Progress> {
  const resourceOf = (made: Progress): NamedResource => ({
    kind: 'user',
    id: userId,
    ...('refusal' in made ? { refusal: made.refusal.errorCode } : { changes: () => signedInBy(made) })
  })
  try {
    return await change(resourceOf, work)
  } catch (error) {
    if (!(error instanceof Fault) || error.errorCode.http >= 500) throw error
    return change(resourceOf, async em => {
      await onRefused?.(em)
      return { refusal: error }
    })
  }
}
