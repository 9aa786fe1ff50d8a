// Interprets errors of the rule form.
import { useMemo } from 'react'
import { ApiError, toApiError } from '../../../api/api-error.ts'
import type { Path } from '../../links/paths.ts'
import { fieldOfCode } from './sections.ts'

/** Returns the error with its field. Adds the field of well-known codes that name none. */
export function useErrorWithField(thrown: Error | null, via: Path): ApiError | null {
  // biome-ignore lint/correctness/useExhaustiveDependencies: the path as it was sent
  return useMemo(() => {
    if (thrown === null) return null
    const error = toApiError(thrown)
    const field = isAbout(error, via) ? 'via' : fieldOfCode[error.code]
    if (error.field !== null || field === undefined) return error
    const { status, code, details, requestId, retryAfterSecs } = error
    return new ApiError(error.message, {
      status,
      code,
      details: { ...details, field },
      requestId,
      retryAfterSecs
    })
  }, [thrown])
}

/** True if the error is about a client of the path, such as one that is offline. */
const isAbout = ({ details }: ApiError, via: Path): boolean =>
  typeof details['client_id'] === 'string' && via.includes(details['client_id'])

/** Returns the path of the wrong field, such as 'targets.0.host'; empty if there is none. */
export const pathOf = (error: ApiError | null): string => error?.field ?? ''

/** Returns the id of the failed rule that the server stored when the client refused it, or null. */
export function storedAsFailed(thrown: Error | null): string | null {
  if (thrown === null) return null
  const { rule_id, rule_state } = toApiError(thrown).details
  return rule_state === 'failed' && typeof rule_id === 'string' ? rule_id : null
}
