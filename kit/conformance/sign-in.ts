// Signs a user in, as routes without a rule do: slots of a plugin take part in it.
import { call, type Surroundings, type Trial } from './trial.ts'

const password = 'a password of plugin check'

/** A refusal is no problem, as long as the route declares its code. */
export async function trySignIn(around: Surroundings): Promise<Trial> {
  const user = { user_id: 'check', display_name: 'Check', role: 'user', initial_password: password }
  const created = await call(around, {
    method: 'POST',
    url: '/v1/users',
    body: { ...user, password_change_required: false }
  })
  const signedIn = await call(
    { ...around, token: null },
    { method: 'POST', url: '/v1/auth/login', body: { user_id: user.user_id, password } }
  )
  const notes = [
    ...(created.status < 400 ? [] : [`a new user is refused: ${created.status} ${created.text}`]),
    ...(signedIn.status < 400 ? [] : [`a sign-in is refused: ${signedIn.status} ${signedIn.text}`])
  ]
  return { problems: [], notes }
}
