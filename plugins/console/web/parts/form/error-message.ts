import type { ApiError } from '../../api/api-error.ts'
import { text } from '../../text/text.ts'

/** Returns the text of an error, translated where an operator meets it often. */
export function errorMessage({ status, code, details, retryAfterSecs, message }: ApiError): string {
  if (status === 0) return text.serverUnreachable
  if (status === 412) return text.changedElsewhere
  if (status === 429) return text.busy(retryAfterSecs ?? 1)
  if (code === 'store_unavailable') return text.storeUnavailable
  if (code === 'password_too_weak')
    return details['reason'] === 'name' ? text.password.isName : text.password.isCommon
  if (code === 'password_too_short') return text.password.isShort
  return message
}
