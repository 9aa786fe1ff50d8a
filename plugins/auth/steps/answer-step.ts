import type { EntityManager } from '@mikro-orm/sql'
import { Fault, invalidSchema, userDisabled } from '../../../kernel/base/errors.ts'
import type { Call } from '../../../kernel/http/route.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import type { Users } from '../../users/exports.ts'
import { stepExpired, stepFailed } from '../codes.ts'
import { Password, type Ticket } from '../entities.ts'
import type { NewLogin } from '../login.ts'
import type { StepBody } from '../schema.ts'
import { keyHashIn } from '../session/session-cookie.ts'
import type { SignInCounts } from '../session/sign-in-counts.ts'
import type { Attempts } from '../throttle/attempts.ts'
import type { SignInStep } from './step-slot.ts'
import { changeSignIn, type Progress, type Refusal, type Steps, stepUser } from './steps.ts'
import type { Tickets } from './tickets.ts'

interface Deps extends Pick<Kernel, 'store'> {
  readonly users: Users
  readonly attempt: Attempts
  readonly steps: Steps
  readonly tickets: Tickets
  readonly signInCounts: SignInCounts
}

/**
 * Checks the answer to a step. Opens the session, or throws `step_failed`, `step_expired`, `step_required` for the next
 * step, or an error of the step. `owner`: the step of the called route; default: a step without a route.
 */
export type AnswerStep = (body: StepBody, call: AnswerCall, owner?: string) => Promise<NewLogin>
export type AnswerCall = Pick<Call, 'requestInfo' | 'change'>

export const openAnswerStep =
  (deps: Deps): AnswerStep =>
  (body, call, owner) =>
    deps.signInCounts.judged(() => answerStep(deps, body, call, owner))

async function answerStep(
  deps: Deps,
  body: StepBody,
  call: AnswerCall,
  owner: string | undefined
): Promise<NewLogin | Refusal> {
  const { store, steps, tickets } = deps
  const ticket = await store.read(em => tickets.find(em, body.ticket, keyHashIn(call.requestInfo)))
  const step = ticket && steps.find(ticket.step)
  if (!ticket || !step || ownerOf(step) !== owner) throw expired(steps.find(owner ?? ''))
  const { userId } = ticket
  const given = { method: methodOf(body, ticket, step), answer: body.answer }
  const attempted = tryAnswer(deps, call, { ticket, step, given })
  const progress = await attempted.catch(error => changeSignIn(call, userId, () => Promise.reject(error)))
  if ('refusal' in progress) return progress
  const password = await store.read(em => em.findOne(Password, { userId }))
  return { ...progress, changeRequired: password?.changeRequired ?? false }
}

/** Makes one throttled attempt. */
async function tryAnswer(deps: Deps, call: AnswerCall, answer: Answer): Promise<Progress> {
  const { userId: subject, keyHash = null } = answer.ticket
  const { remoteAddr } = call.requestInfo
  let wrong = failed(answer.step)
  const progress = await deps.attempt({ action: 'step', subject, remoteAddr, keyHash }, async () => {
    const made = await verify(deps, call, answer)
    if (!isWrongAnswer(made)) return made
    wrong = made.refusal
    return null
  })
  return progress ?? { refusal: wrong }
}

interface Answer {
  readonly ticket: Ticket
  readonly step: SignInStep
  readonly given: Parameters<SignInStep['verify']>[0]
}

/** Lets the step judge the answer, and counts the try, in one transaction. */
function verify({ users, steps, tickets }: Deps, call: AnswerCall, answer: Answer): Promise<Progress> {
  const { ticket, step, given } = answer
  const judge = async (em: EntityManager): Promise<Progress> => {
    const user = await users.find(em, ticket.userId)
    if (!user || !(await tickets.take(em, ticket))) return { refusal: expired(step) }
    if (user.disabled)
      return { refusal: new Fault(userDisabled, `user ${user.id} is disabled; ask a superadmin`) }
    if (!(await step.verify(given, stepUser(user), em))) return { refusal: failed(step) }
    await tickets.spend(em, ticket)
    const { keyHash = null } = ticket
    const { requestInfo } = call
    const passed = [...ticket.passed, step.name]
    const factors = [...ticket.factors, given.method]
    return steps.proceed(em, { user, keyHash, requestInfo, passed, factors })
  }
  return changeSignIn(call, ticket.userId, judge, em => tickets.take(em, ticket))
}

/** False for the demand of the next step, and for refusals with another status. */
function isWrongAnswer(made: Progress): made is Refusal {
  return 'refusal' in made && made.refusal.errorCode.http === 401 && !made.isDemand
}

const ownerOf = ({ name, route }: SignInStep): string | undefined => (route ? name : undefined)

/** The plugin of a step with its own route names the method, and judges one that it has not offered. */
function methodOf({ method }: StepBody, { methods }: Ticket, { route }: SignInStep): string {
  const [first = ''] = methods
  if (method === undefined || methods.includes(method) || route) return method ?? first
  throw new Fault(invalidSchema, `method must be ${methods.join(' or ')}, got ${JSON.stringify(method)}`, {
    details: { field: '/method', reason: 'enum' }
  })
}

const failed = ({ route }: SignInStep): Fault =>
  new Fault(route?.failed ?? stepFailed, 'the answer is wrong, or it was used before; try another one')

const expired = ({ route }: Partial<SignInStep> = {}): Fault =>
  new Fault(
    route?.failed ?? stepExpired,
    `the ${route ? 'challenge' : 'ticket'} is unknown, used or older than 5 minutes; sign in with the password again`
  )
