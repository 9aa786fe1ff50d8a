// The changes of a step, as people read them.
import { type DocumentEntry, withoutNull } from '../rules/command-exports.ts'

/** Returns one line for each property: `rate_limit.concurrent_connections 5 -> 7`; `-` stands for none. */
export function changesOf(from: DocumentEntry, to: DocumentEntry): string[] {
  const [before, after] = [flat(withoutNull(from)), flat(withoutNull(to))]
  return [...new Set([...before.keys(), ...after.keys()])]
    .map(path => [path, before.get(path) ?? '-', after.get(path) ?? '-'] as const)
    .filter(([, was, is]) => was !== is)
    .map(([path, was, is]) => `${path} ${was} -> ${is}`)
}

/** Returns values as text by their path; a list is one value. */
function flat(value: unknown, path = ''): Map<string, string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return new Map([[path, typeof value === 'string' ? value : JSON.stringify(value)]])
  const parts = Object.entries(value).filter(([, part]) => part !== undefined)
  return new Map(parts.flatMap(([key, part]) => [...flat(part, path === '' ? key : `${path}.${key}`)]))
}
