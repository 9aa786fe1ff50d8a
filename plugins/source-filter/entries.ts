// An entry of a rule: an address, a prefix, or '@name' of a list.
import { Fault } from '../../kernel/base/errors.ts'
import { normalizePrefix } from '../rules/exports.ts'
import { invalidSources } from './fields.ts'

const listPattern = /^@[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/

export const isListName = (entry: string): boolean => entry.startsWith('@')

/** Returns the entries in their normal form, each once. Throws `validation.sources` for the first that is none. */
export function normalizeEntries(
  given: readonly string[],
  field: string,
  mayName: 'lists' | 'no lists'
): string[] {
  const entries = given.map((text, at) => {
    if (mayName === 'lists' && listPattern.test(text)) return text
    const prefix = normalizePrefix(text)
    if (prefix !== null) return prefix
    const what = mayName === 'lists' ? ', nor a list such as @office' : ''
    throw invalidEntry(
      `${field}/${at}`,
      'prefix',
      `${text} is neither an address nor a prefix such as 192.0.2.0/24${what}`
    )
  })
  return [...new Set(entries)]
}

/** Throws `validation.sources` for what rules could not name as a list. */
export function requireListName(name: string): void {
  if (!listPattern.test(`@${name}`))
    throw invalidEntry(
      '/list_name',
      'list',
      'a list has a name of at most 63 letters, digits, dots, dashes and underscores'
    )
}

export const invalidEntry = (field: string, reason: string, why: string): Fault =>
  new Fault(invalidSources, `${field}: ${why}`, { details: { field, reason } })
