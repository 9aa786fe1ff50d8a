import { Fault, wrongUsage } from '../base/errors.ts'

/** Returns why a secret from a file or the environment is not what its author means, with the remedy; null if it is fine. */
export function secretProblem(secret: string): string | null {
  if (secret === '') return 'must not be empty'
  if (/^[\r\n]|[\r\n]$/.test(secret)) return 'begins or ends with a line break (CR or LF); remove it'
  if (/\p{Cc}/u.test(secret)) return 'has a line break or another control character; remove it'
  if (secret.includes('\ufffd')) return 'has bytes that are not UTF-8; save or type it in UTF-8'
  if (secret.trim() !== secret) return 'begins or ends with white space or a byte order mark; remove it'
  if (isQuoted(secret)) return 'is in quotes; remove them: here they are part of the secret'
  return null
}

/** Returns why a token cannot be sent in a header, or as `secretProblem`. */
export function tokenProblem(token: string): string | null {
  const problem = secretProblem(token)
  if (problem !== null || /^[\x21-\x7e]*$/.test(token)) return problem
  return 'has a space or a character outside of ASCII, which no request can carry; create one with: sluice gen-token'
}

/** Env files of containers and systemd differ in whether quotes belong to the value. */
export const isQuoted = (text: string): boolean =>
  /^(?:".*"|'.*'|`.*`|[\u201c-\u201e].*[\u201c\u201d]|[\u2018-\u201a].*[\u2018\u2019])$/su.test(text)

/** Returns the secret that `name` gives to a command. Throws Fault if `problemOf` finds a problem. */
export function requireSecret(name: string, secret: string, problemOf = secretProblem): string {
  const problem = problemOf(secret)
  if (problem !== null) throw new Fault(wrongUsage, `${name} ${problem}`)
  return secret
}
