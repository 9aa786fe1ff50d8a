import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import type { CommandCall } from '../../kernel/cli/command.ts'
import { logIn } from '../cli/exports.ts'
import { askPassword } from './answers.ts'
import type { Questions } from './questions.ts'

interface Given {
  readonly origin: string
  readonly publicOrigin: string | undefined
  readonly cacert?: string | undefined
  readonly user: string
  readonly displayName: string
  readonly password: string
  readonly setupToken: string
}

/** Creates the first administrator of a running server, and signs in. At a terminal, asks again after a weak password. */
export async function createAdministrator(
  call: Pick<CommandCall<object>, 'connect' | 'env' | 'print'>,
  given: Given,
  questions: Questions
) {
  const { origin, user, displayName, password, setupToken } = given
  const body = { user_id: user, display_name: displayName, setup_token: setupToken }
  try {
    await call
      .connect(origin, '')
      .send('POST', '/v1/auth/onboarding', { ...body, password, password_confirm: password })
  } catch (error) {
    const isWeak = error instanceof Fault && /^password_too_/.test(error.errorCode.code)
    if (!isWeak || !questions.isTerminal || call.env['SVC_PASSWORD'] !== undefined) throw error
    process.stderr.write(`${error.message}\n`)
    const other = await askPassword(questions, call.env)
    return createAdministrator(call, { ...given, password: other }, questions)
  }
  return logIn(call, given).catch((cause: unknown) => {
    if (!(cause instanceof Fault)) throw cause
    const message = `${user} is created, but not signed in: ${cause.message}; run sluice login ${user}`
    throw new Fault(cause.errorCode, message, { cause })
  })
}

/** Throws the server's error for a second onboarding, with a remedy. */
export function refuseSecond(what: string): never {
  throw new Fault(
    { ...wrongUsage, code: 'already_bootstrapped', http: 409 },
    `${what} already has an administrator: run sluice login USER. For a lost password see sluice reset-password --help`
  )
}
