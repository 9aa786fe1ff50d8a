import { openParsedFile } from './parsed-file.ts'

/** Returns the absolute names to look up for a host name, in order: the first that exists is the one meant. */
export type SearchList = (host: string) => readonly string[]

const systemFile = '/etc/resolv.conf'
const maxDomains = 32
const maxDomainChars = 2_048 // of all domains together
const maxNdots = 15 // as in the C library
const maxNameChars = 253

/** Reads the search list of a file in the format of resolv.conf, again after a change. */
export function openSearchList(file = systemFile): SearchList {
  const current = openParsedFile(file, parseSearchList)
  return host => current()(host)
}

/**
 * Parses `search`, `domain` and `options ndots` of resolv.conf. The domains apply to names with fewer dots than ndots,
 * before the name itself. A name with a trailing dot is absolute.
 */
export function parseSearchList(text: string): SearchList {
  const { domains, ndots } = parse(text)
  return host => {
    const name = withoutDot(host.toLowerCase())
    const isAbsolute = host.endsWith('.') || name.split('.').length - 1 >= ndots
    const searched = isAbsolute ? [] : domains.map(domain => `${name}.${domain}`)
    return [...searched.filter(({ length }) => length <= maxNameChars), name]
  }
}

/** The last line of `search` and `domain` counts, and the last `ndots`. */
function parse(text: string) {
  let domains: readonly string[] = []
  let ndots = 1
  for (const line of text.toLowerCase().split('\n')) {
    const [keyword, ...values] = line
      .replace(/[#;].*/, '')
      .trim()
      .split(/\s+/)
    if (keyword === 'domain' && values.length > 0) domains = validDomains(values.slice(0, 1))
    if (keyword === 'search' && values.length > 0) domains = validDomains(values)
    if (keyword !== 'options') continue
    for (const value of values) {
      const [, given] = /^ndots:(\d+)$/.exec(value) ?? []
      if (given !== undefined) ndots = Math.min(Number(given), maxNdots)
    }
  }
  return { domains, ndots }
}

const domainPattern = /^(?!.*[^.]{64})[a-z0-9_-]+(\.[a-z0-9_-]+)*$/

/** Leaves out values that are no domain, such as the root, and those beyond the bounds. */
function validDomains(values: readonly string[]): readonly string[] {
  const domains = [...new Set(values.map(withoutDot))].filter(domain => domainPattern.test(domain))
  const kept = domains.slice(0, maxDomains)
  while (kept.join('').length > maxDomainChars) kept.pop()
  return kept
}

export const withoutDot = (name: string): string => name.replace(/\.$/, '')
