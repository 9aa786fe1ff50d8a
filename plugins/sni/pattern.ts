// Parses and compares the TLS server names of rules.
import { defineCode, Fault } from '../../kernel/base/errors.ts'
import { sniPattern } from './fields.ts'

export const patternMalformed = defineCode('validation.sni_pattern_malformed', 400, 3)

const label = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/
const numeric = /^(\d+|0x[0-9a-f]*)$/ // some resolvers read such a name as an address
const maxLength = 253

/** Returns the name in lower case without a trailing dot. Throws `validation.sni_pattern_malformed`. */
export function parsePattern(given: string): string {
  const pattern = given.toLowerCase().replace(/\.$/, '')
  const labels = (isWildcard(pattern) ? pattern.slice(2) : pattern).split('.')
  if (!labels.every(part => label.test(part)) || pattern.length > maxLength)
    throw malformed('is not a DNS name of ASCII letters, digits, - and _, with or without *. before it')
  if (isWildcard(pattern) && labels.length < 2) throw malformed('needs at least two labels after *.')
  if (numeric.test(labels.at(-1) ?? ''))
    throw malformed('ends in a number, like an IP address; give a DNS name')
  return pattern
}

const isWildcard = (pattern: string): boolean => pattern.startsWith('*.')

/** True if the pattern is a wildcard and matches the name; `*` stands for exactly one label. */
export const covers = (pattern: string, name: string): boolean =>
  isWildcard(pattern) && name.slice(name.indexOf('.')) === pattern.slice(1)

const malformed = (why: string): Fault =>
  new Fault(patternMalformed, `/${sniPattern.key} ${why}`, {
    details: { field: `/${sniPattern.key}`, reason: 'pattern' }
  })
