// The filter as text: 'source=198.51.100.0/24 owner=ann'.
import type { Api } from '../../../kernel/cli/command.ts'
import { findRuleId } from '../../rules/command-exports.ts'

const keys = ['source', 'rule', 'client', 'owner', 'protocol', 'target'] as const
export type Filters = { readonly [K in (typeof keys)[number]]?: string }

/** Returns the filter, or the problem of the text. The server validates the values. `more`: further keys. */
export function parseFilter(
  text: string,
  more: readonly string[] = []
): Filters | { readonly problem: string } {
  const known = [...keys, ...more]
  const pairs = text
    .split(/\s+/)
    .filter(word => word !== '')
    .map(word => [word.slice(0, Math.max(0, word.indexOf('='))), word.slice(word.indexOf('=') + 1)] as const)
  const wrong = pairs.find(([key = '', value]) => !known.includes(key) || value === '')
  if (wrong)
    return { problem: `write filters as ${known.join('=, ')}=, each with a value; leave empty for all` }
  return Object.fromEntries(pairs)
}

export const filterText = (filter: Filters): string =>
  Object.entries(filter)
    .map(([key, value]) => `${key}=${value}`)
    .join(' ')

/** Returns the API query. Throws `rule_not_found`, or `usage` if several rules match. */
export async function loadQuery(api: Api, { rule, protocol, ...filter }: Filters) {
  return {
    ...filter,
    ...(rule !== undefined && { rule_id: await findRuleId(api, rule) }),
    ...(protocol !== undefined && { protocol: protocol as 'tcp' | 'udp' }) // the server refuses others
  }
}
