import { isDeepStrictEqual } from 'node:util'
import type { FieldChange } from '../../../kernel/http/route.ts'

type Fields = Readonly<Record<string, unknown>>

/** Returns the fields of `after` that differ from `before`, where a missing one is null. */
export const listChanges = (before: Fields, after: Fields): FieldChange[] =>
  Object.entries(after)
    .map(([field, to]) => ({ field, from: before[field] ?? null, to }))
    .filter(({ from, to }) => !isDeepStrictEqual(from, to))
