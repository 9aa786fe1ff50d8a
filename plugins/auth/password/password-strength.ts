// Which passwords a user may choose. Nobody is asked for digits or symbols; passwords that guessing programs try first are
// refused.
import { readFile } from 'node:fs/promises'
import { Fault } from '../../../kernel/base/errors.ts'
import { passwordMismatch, passwordTooLong, passwordTooShort, passwordTooWeak } from '../codes.ts'

/** The user who gets the password. */
export interface PasswordOwner {
  readonly userId: string
  readonly displayName: string
}

/** Throws `password_too_short` or `password_too_long`. */
export function refuseLength(password: string): void {
  const bytes = Buffer.byteLength(password)
  if (bytes < 12) throw new Fault(passwordTooShort, `the password has ${bytes} bytes; it needs at least 12`)
  if (bytes > 1024)
    throw new Fault(passwordTooLong, `the password has ${bytes} bytes; it may have at most 1024`)
}

/** Throws if the length is wrong, or `password_too_weak` if the password is easy to guess. */
export async function refuseWeak(password: string, owner: PasswordOwner): Promise<void> {
  refuseLength(password)
  const characters = [...password.normalize('NFKC').toLowerCase()]
  const text = characters.join('')
  if (!/[\p{L}\p{N}\p{P}\p{S}]/u.test(text)) throw weak('blank', 'has only spaces and control characters')
  if (new Set(characters).size < minDistinct)
    throw weak('repeated', `has fewer than ${minDistinct} different characters`)
  if (isSequence(characters)) throw weak('sequence', 'is a sequence of characters')
  if (isName(text, owner)) throw weak('name', 'is the name of the user or of sluice, with little else')
  if (await isCommon(text)) throw weak('common', 'is among those that guessing programs try first')
}

/** Also throws `password_mismatch`. */
export async function refuseNew(password: string, confirmation: string, owner: PasswordOwner): Promise<void> {
  await refuseWeak(password, owner)
  if (password !== confirmation)
    throw new Fault(passwordMismatch, 'the two passwords differ; enter the same one twice')
}

const minDistinct = 5

type Reason = 'blank' | 'repeated' | 'sequence' | 'name' | 'common'

const weak = (reason: Reason, why: string): Fault =>
  new Fault(passwordTooWeak, `the password ${why}; choose another, such as several unrelated words`, {
    details: { reason }
  })

/** True if each character follows or repeats its predecessor, as in 'abcdefghijkl' and '998877665544'. */
function isSequence(characters: readonly string[]): boolean {
  const codes = characters.map(character => character.codePointAt(0) ?? 0)
  return codes.slice(1).every((code, i) => [0, 1, 9].includes(Math.abs(code - (codes[i] ?? 0)))) // 9: from 9 to 0
}

/** True if fewer than six letters and digits are left without the names. */
function isName(text: string, { userId, displayName }: PasswordOwner): boolean {
  const names = [userId, displayName, ...displayName.split(/\s+/), 'sluice']
    .map(name => name.normalize('NFKC').toLowerCase())
    .filter(name => name.length > 2)
    .sort((a, b) => b.length - a.length)
  const rest = names.reduce((left, name) => left.replaceAll(name, ' '), text)
  return rest !== text && rest.replaceAll(/[^\p{L}\p{N}]/gu, '').length < 6
}

/** 49,000 common passwords and words in lower case, the most common first, as a JSON array. */
const commonFile = new URL(import.meta.resolve('@zxcvbn-ts/language-common/src/passwords.json'))

/** True for a listed password, alone or repeated, also with up to eight digits and symbols around it. */
async function isCommon(text: string): Promise<boolean> {
  const unit = /^(.+?)\1+$/s.exec(text)?.[1]
  const [, before = '', stem, after = ''] = /^([^\p{L}]*)(\p{L}+)([^\p{L}]*)$/u.exec(text) ?? []
  const candidates = [text, unit, before.length + after.length <= 8 ? stem : undefined]
  const list = await readFile(commonFile) // a file that is seldom read takes no memory
  return candidates.some(word => word !== undefined && list.includes(JSON.stringify(word)))
}
