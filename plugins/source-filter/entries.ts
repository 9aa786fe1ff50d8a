// Entries of a rule: an address, a prefix, or a list as '@name'.
import { Fault } from '../../kernel/base/errors.ts'
import { normalizePrefix } from '../rules/exports.ts'
import { invalidSources } from './fields.ts'

const listPattern = /^@[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/

export const isListName = (entry: string): boolean => entry.startsWith('@')

/** Normalizes and deduplicates the entries. Throws `validation.sources` for the first invalid one. */
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

/** Throws `validation.sources` for an invalid list name. */
export function requireListName(name: string): void {
  if (!listPattern.test(`@${name}`))
    throw invalidEntry(
      '/list_name',
      'list',
      'a list name has at most 63 letters, digits, dots, dashes and underscores, and starts with a letter or digit'
    )
}

export const invalidEntry = (field: string, reason: string, why: string): Fault =>
  new Fault(invalidSources, `${field}: ${why}`, { details: { field, reason } })
