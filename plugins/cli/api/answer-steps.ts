import { Fault } from '../../../kernel/base/errors.ts'
import type { SecretReader } from '../terminal/secret-reader.ts'
import type { CliApi } from './api-client.ts'

type Request = CliApi['request']

interface Given {
  readonly stepMethod?: string | undefined // for steps that have it; default: their first
  readonly secrets?: Pick<SecretReader, 'ask'> // for the answers; without it they are an error
}

/** The question of a step, and the request that answers it. */
interface Question {
  readonly methods: readonly string[]
  readonly promptOf: (method: string) => string
  readonly send: (method: string, answer: string) => ReturnType<Request>
}

/** Asks for the answer to each further step of a refused sign-in. Returns the reply that has the session. */
export async function answerSteps(
  error: unknown,
  request: Request,
  given: Given
): ReturnType<CliApi['request']> {
  if (!(error instanceof Fault)) throw error
  const question = questionIn(error, request)
  if (!question) throw error
  const { secrets, stepMethod } = given
  if (!secrets) throw new Fault(error.errorCode, error.message) // without the ticket, which would be printed
  const { methods, promptOf, send } = question
  const method = stepMethod !== undefined && methods.includes(stepMethod) ? stepMethod : methods[0]
  if (method === undefined)
    throw new Fault(
      error.errorCode,
      'a terminal cannot answer this; sign in to the console, and issue a token'
    )
  const answer = await secrets.ask({ variable: 'SVC_STEP_ANSWER', prompt: `${promptOf(method)}: ` })
  return send(method, answer).catch((next: unknown) => answerSteps(next, request, given))
}

/** Returns null for another error. */
function questionIn({ errorCode, details }: Fault, request: Request): Question | null {
  if (errorCode.code === 'step_required') return stepQuestion(details as unknown as StepDetails, request)
  if (errorCode.code === 'second_factor_required')
    return factorQuestion(details as unknown as FactorDetails, request)
  return null
}

// Both are made by the server.
interface StepDetails {
  readonly ticket: string
  readonly prompts: Readonly<Record<string, { readonly en: string }>>
  readonly methods: readonly string[]
}
interface FactorDetails {
  readonly challenge: string
  readonly methods: readonly string[]
}

const stepQuestion = ({ ticket, prompts, methods }: StepDetails, request: Request): Question => ({
  methods,
  promptOf: method => prompts[method]?.en ?? method,
  send: (method, answer) => request('POST', '/v1/auth/step', { body: { ticket, method, answer } })
})

/** The factors that a terminal can ask for, with the field of the body. */
const factors: Readonly<Record<string, { readonly field: string; readonly prompt: string }>> = {
  totp: { field: 'code', prompt: 'Code of your authenticator app' },
  recovery_code: { field: 'recovery_code', prompt: 'Recovery code' }
}

const factorQuestion = ({ challenge, methods }: FactorDetails, request: Request): Question => ({
  methods: methods.filter(method => method in factors),
  promptOf: method => factors[method]?.prompt ?? method,
  send: (method, answer) =>
    request('POST', '/v1/auth/second-factor', {
      body: { challenge, [factors[method]?.field ?? method]: answer }
    })
})
