// Reads files of address ranges with countries, such as those of registries: FIRST,LAST,CC or PREFIX,CC per line.
import { isIP } from 'node:net'
import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import { parseAddress, type Range, rangesToPrefixes } from './ranges.ts'
import { maxListEntries } from './wire.ts'

const country = /^([A-Za-z?][A-Za-z0-9?]|-|)$/ // unassigned ranges have '-', '??' or nothing

/** Parses country codes separated by commas. */
export function codesIn(text: string): string[] {
  const codes = text.split(',').map(code => code.trim().toUpperCase())
  const wrong = codes.find(code => !/^[A-Z]{2}$/.test(code))
  if (wrong === undefined) return [...new Set(codes)]
  throw new Fault(
    wrongUsage,
    `--country ${wrong} is not a country code; give codes of two letters, such as DE,AT`
  )
}

/** Returns the fewest prefixes of the countries. Throws if the file lacks a country or has more than a list may have. */
export function prefixesIn(text: string, codes: readonly string[]): string[] {
  const ranges = rangesIn(text, codes)
  const missing = codes.find(code => !ranges.get(code)?.length)
  if (missing !== undefined) throw new Fault(wrongUsage, `the file has no range for ${missing}`)
  const prefixes = rangesToPrefixes([...ranges.values()].flat())
  if (prefixes.length > maxListEntries) throw tooMany(prefixes.length, ranges)
  return prefixes
}

function rangesIn(text: string, codes: readonly string[]): ReadonlyMap<string, readonly Range[]> {
  const ranges = new Map(codes.map(code => [code, [] as Range[]]))
  let isFirst = true
  for (const [at, line] of text.split('\n').entries()) {
    const fields = line
      .replace(/^\uFEFF/, '')
      .split(',')
      .map(unquoted)
    if (fields.length === 1 && fields[0] === '') continue
    if (/^[#;]/.test(fields[0] ?? '')) continue
    const isHeader = isFirst && !fields.some(field => isIP(field.split('/', 1)[0] ?? '') !== 0)
    isFirst = false
    if (isHeader) continue
    const [code = '', addresses] = parseRow(fields) ?? wrong(at + 1, line)
    ranges.get(code)?.push(parseRange(addresses) ?? wrong(at + 1, line))
  }
  return ranges
}

const unquoted = (field: string): string => field.trim().replace(/^(["'])(.*)\1$/, '$2')

/** Returns the country of a row, and its prefix or its first and last address. */
function parseRow([one = '', two, three]: readonly string[]): [string, readonly string[]] | null {
  if (two !== undefined && three !== undefined && isIP(one) !== 0 && isIP(two) !== 0 && country.test(three))
    return [three.toUpperCase(), [one, two]]
  return two !== undefined && isIP(one.split('/', 1)[0] ?? '') !== 0 && country.test(two)
    ? [two.toUpperCase(), [one]]
    : null
}

function parseRange([one = '', two]: readonly string[]): Range | null {
  if (two === undefined) return parsePrefixRange(one)
  const from = parseAddress(one)
  const to = parseAddress(two)
  if (!from || !to || from.bytes !== to.bytes || to.first < from.first) return null
  return { ...from, last: to.first }
}

function parsePrefixRange(text: string): Range | null {
  const [, address = '', digits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const from = parseAddress(address)
  if (!from) return null
  const bits = Number(digits ?? from.bytes * 8)
  if (bits > from.bytes * 8) return null
  const free = BigInt(from.bytes * 8 - bits)
  const first = (from.first >> free) << free
  return { bytes: from.bytes, first, last: first + (1n << free) - 1n }
}

function wrong(line: number, text: string): never {
  const shown = text.trim().slice(0, 60)
  throw new Fault(wrongUsage, `line ${line} is neither FIRST,LAST,COUNTRY nor PREFIX,COUNTRY: ${shown}`)
}

function tooMany(count: number, ranges: ReadonlyMap<string, readonly Range[]>): Fault {
  const each = [...ranges].map(([code, own]) => {
    const of = rangesToPrefixes(own)
    const v6 = of.filter(prefix => prefix.includes(':')).length
    return `${code}: ${of.length - v6} IPv4 and ${v6} IPv6`
  })
  const remedy =
    ranges.size > 1
      ? 'create lists for fewer countries each'
      : 'use a file with larger ranges, such as those of the registries, or with one address family'
  return new Fault(
    wrongUsage,
    `a list has room for ${maxListEntries} prefixes, got ${count} (${each.join(', ')}); ${remedy}`
  )
}
