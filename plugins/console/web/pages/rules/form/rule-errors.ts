// What a refusal says about the form.
import { useMemo } from 'react'
import { ApiError, errorOf } from '../../../api/api-error.ts'
import { fieldOfCode } from './sections.ts'

/** Returns the error with the field that it is about, also where the server names none. */
export function usePlaced(thrown: Error | null): ApiError | null {
  return useMemo(() => {
    if (thrown === null) return null
    const error = errorOf(thrown)
    const field = fieldOfCode[error.code]
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

/** 'targets.0.host'; empty: it is about no field. */
export const pathOf = (error: ApiError | null): string => error?.field ?? ''

/** A rule that a client refuses is kept as failed, and has its port: returns its id. */
export function keptAsFailed(thrown: Error | null): string | null {
  if (thrown === null) return null
  const { rule_id, rule_state } = errorOf(thrown).details
  return rule_state === 'failed' && typeof rule_id === 'string' ? rule_id : null
}
