import { ApiError } from '../../api/api-error.ts'
import { call } from '../../api/call.ts'
import type { Existing } from './ExistingSelect.tsx'

export type Labels = Readonly<Record<string, string | null>>

/** `existing`: what happens to open connections. */
export type BulkAction =
  | { readonly action: 'resume' }
  | { readonly action: 'pause' | 'delete'; readonly existing: Existing }
  | { readonly action: 'patch'; readonly patch: { readonly labels: Labels } }

const batchSize = 200 // small enough to show progress

/** Changes rules in batches and reports the progress. */
export async function changeRules(
  ids: readonly string[],
  { existing, ...action }: BulkAction & { readonly existing?: Existing },
  onProgress: (done: number) => void
) {
  let changed = 0
  let refused = 0
  let first: ApiError | null = null
  for (let from = 0; from < ids.length; from += batchSize) {
    const { results } = await call('POST /v1/rules/bulk', {
      ...(action.action === 'pause' && existing !== undefined && { query: { existing } }),
      body: { ids: ids.slice(from, from + batchSize), ...action }
    })
    for (const { status, error } of results) {
      if (!error) changed++
      else {
        refused++
        first ??= new ApiError(error.message, { status, code: error.code })
      }
    }
    onProgress(changed + refused)
  }
  return { changed, refused, first }
}
