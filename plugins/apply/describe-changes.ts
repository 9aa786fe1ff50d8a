import { type DocumentEntry, withoutNull } from '../rules/command-exports.ts'

/** Returns one line per changed property: `rate_limit.concurrent_connections 5 -> 7`. `-` stands for no value. */
export function describeChanges(from: DocumentEntry, to: DocumentEntry): string[] {
  const before = flatten(withoutNull(from))
  const after = flatten(withoutNull(to))
  return [...new Set([...before.keys(), ...after.keys()])]
    .map(path => [path, before.get(path) ?? '-', after.get(path) ?? '-'] as const)
    .filter(([, was, is]) => was !== is)
    .map(([path, was, is]) => `${path} ${was} -> ${is}`)
}

/** Returns the values as text, by path. A list is one value. */
function flatten(value: unknown, path = ''): Map<string, string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return new Map([[path, typeof value === 'string' ? value : JSON.stringify(value)]])
  const parts = Object.entries(value).filter(([, part]) => part !== undefined)
  return new Map(parts.flatMap(([key, part]) => [...flatten(part, path === '' ? key : `${path}.${key}`)]))
}
