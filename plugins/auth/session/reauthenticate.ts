import type { EntityManager } from '@mikro-orm/sql'
import { Fault, unauthenticated } from '../../../kernel/base/errors.ts'
import type { Call } from '../../../kernel/http/route.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { invalidLogin } from '../codes.ts'
import type { Passwords } from '../password/passwords.ts'
import type { Attempts } from '../throttle/attempts.ts'
import { keyHashIn } from './session-cookie.ts'
import type { Sessions } from './sessions.ts'

interface Deps extends Pick<Kernel, 'store'> {
  readonly sessions: Sessions
  readonly passwords: Passwords
  readonly attempt: Attempts
}

/** How a signed-in user proves again who they are. */
export type Proof = { readonly password: string } | FactorProof

export interface FactorProof {
  readonly factor: string // such as 'totp'
  readonly refusal: () => Fault // of a wrong answer
  /** Returns false for a wrong answer. Runs in the transaction of the request; a wrong answer rolls it back. */
  verify(em: EntityManager): Promise<boolean>
}

export type ReauthenticateCall = Pick<Call, 'principal' | 'requestInfo' | 'change'>

/** Judges a throttled proof of the caller's session, which is then fresh. Throws `invalid_login`, or the proof's refusal. */
export type Reauthenticate = (proof: Proof, call: ReauthenticateCall) => Promise<void>

export const openReauthenticate =
  (deps: Deps): Reauthenticate =>
  async (proof, call) => {
    const { store, sessions } = deps
    const current = await store.read(em => sessions.findCurrent(em, call))
    if (current?.userId !== call.principal.userId)
      // another plugin may have authenticated the caller
      throw new Fault(unauthenticated, 'only a web session can be confirmed; sign in')
    await ('password' in proof ? provePassword(deps, proof.password, call) : proveFactor(deps, proof, call))
  }

async function provePassword(
  { sessions, passwords, attempt }: Deps,
  password: string,
  call: ReauthenticateCall
): Promise<void> {
  const { userId } = call.principal
  const verified = await attempt(attemptOf('login', call), argon => passwords.verify(argon, userId, password))
  if (!verified) throw new Fault(invalidLogin, 'the password is wrong or has expired')
  await call.change({ kind: 'user', id: userId }, em => sessions.refresh(em, call, 'password'))
}

async function proveFactor(
  { sessions, attempt }: Deps,
  proof: FactorProof,
  call: ReauthenticateCall
): Promise<void> {
  const refused = proof.refusal()
  const work = async (em: EntityManager): Promise<true> => {
    if (!(await proof.verify(em))) throw refused
    await sessions.refresh(em, call, proof.factor)
    return true
  }
  const judge = () =>
    call.change({ kind: 'user', id: call.principal.userId }, work).catch((error: unknown) => {
      if (error === refused) return null
      throw error
    })
  if (!(await attempt(attemptOf('step', call), judge))) throw refused
}

const attemptOf = (action: 'login' | 'step', { principal, requestInfo }: ReauthenticateCall) => ({
  action,
  subject: principal.userId,
  remoteAddr: requestInfo.remoteAddr,
  keyHash: keyHashIn(requestInfo)
})
