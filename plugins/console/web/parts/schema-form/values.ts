// Values of a form and the request body made of them. `undefined` is a field without a value.

export type Values = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Removes empty values, also nested ones; returns undefined if nothing is left. */
export function withoutEmpty(value: unknown): unknown {
  if (value === undefined || value === null || value === '') return undefined
  if (!isObject(value)) return value
  const entries = Object.entries(value).flatMap(([key, part]) => {
    const left = withoutEmpty(part)
    return left === undefined ? [] : [[key, left]]
  })
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

export const isSame = (a: unknown, b: unknown): boolean => {
  if (isObject(a) && isObject(b))
    return [...new Set([...Object.keys(a), ...Object.keys(b)])].every(key => isSame(a[key], b[key]))
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((part, i) => isSame(part, b[i]))
  return (a ?? null) === (b ?? null)
}

/** Returns the JSON Merge Patch (RFC 7396) from `from` to `to`; null removes a value. */
export function toMergePatch(from: Values, to: Values): Values {
  const patch: Record<string, unknown> = {}
  for (const key of new Set([...Object.keys(from), ...Object.keys(to)])) {
    const before = from[key]
    const after = to[key]
    if (isSame(before, after)) continue
    patch[key] = isObject(before) && isObject(after) ? toMergePatch(before, after) : (after ?? null)
  }
  return patch
}
