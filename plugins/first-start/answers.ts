// Reads name, password and setup token from arguments, the environment, a terminal, or lines of standard input.
import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import { requireSecret } from '../../kernel/platform/secret-problem.ts'
import { endpointForm, endpointsIn, isEndpoint } from '../certificate/exports.ts'
import type { Questions } from './questions.ts'

type Env = Readonly<Record<string, string | undefined>>

/** Throws Fault if the user is not given and there is no terminal. */
export async function askUser({ isTerminal, ask }: Questions, given: string | undefined): Promise<string> {
  if (given !== undefined) return given
  if (isTerminal) return (await ask('User id of the administrator [root]: ')) || 'root'
  throw new Fault(
    wrongUsage,
    'standard input is not a terminal: name the user, for example sluice setup root'
  )
}

/** Asks twice at a terminal. */
export async function askPassword({ isTerminal, askSecret }: Questions, env: Env): Promise<string> {
  const given = env['SVC_PASSWORD']
  if (given !== undefined) return requireSecret('SVC_PASSWORD', given)
  for (;;) {
    const password = await askSecret('Password, at least 12 bytes: ', 'SVC_PASSWORD')
    if (!isTerminal || (await askSecret('Repeat the password: ', 'SVC_PASSWORD')) === password)
      return password
    process.stderr.write('the two passwords differ\n')
  }
}

/** Asks for the token that a running server has logged at its start. */
export const askSetupToken = async ({ askSecret }: Questions, env: Env): Promise<string> =>
  requireSecret(
    env['SVC_SETUP_TOKEN'] === undefined ? 'the setup token' : 'SVC_SETUP_TOKEN',
    env['SVC_SETUP_TOKEN'] ??
      (await askSecret('Setup token, from the log of the server: ', 'SVC_SETUP_TOKEN')).trim()
  )

/** Asks where agents will reach the server; commas separate several endpoints. Undefined: on this host only. */
export async function askEndpoint(
  { isTerminal, ask }: Questions,
  given: unknown
): Promise<string | undefined> {
  for (let endpoint = given; ; ) {
    endpoint ??= isTerminal
      ? await ask('HOST:PORT at which agents will reach this server [this host only]: ')
      : ''
    if (endpoint === '') return undefined
    const wrong = endpointsIn(String(endpoint)).find(text => !isEndpoint(text))
    if (wrong === undefined) return String(endpoint)
    const problem = `${JSON.stringify(wrong)} ${endpointForm}, for example sluice.example.com:7443`
    if (given !== undefined) throw new Fault(wrongUsage, problem)
    process.stderr.write(`${problem}\n`)
    endpoint = undefined
  }
}
