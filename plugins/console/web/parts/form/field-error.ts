import { type ApiError, toApiError, type WrongField } from '../../api/api-error.ts'
import { text } from '../../text/text.ts'
import { errorMessage } from './error-message.ts'

/**
 * Returns the error of a form field, or null. `name` is its path in the body: 'listen_port', 'targets.0.host'.
 * 'parts' includes errors of nested fields, such as a single label.
 */
export function fieldError(thrown: Error | null, name: string, parts?: 'parts'): string | null {
  if (thrown === null) return null
  const error = toApiError(thrown)
  const wrong = error.wrongFields.find(
    ({ field }) => field === name || (parts !== undefined && field.startsWith(`${name}.`))
  )
  if (!wrong) return null
  const part = wrong.field.slice(name.length + 1)
  return part === '' ? fieldMessage(error, wrong) : `${partName(part)}: ${fieldMessage(error, wrong)}`
}

/** The code and the message of an error are about its first field; of the others only the reason is known. */
const fieldMessage = (error: ApiError, { field, reason, message }: WrongField): string =>
  message ??
  (field === error.field ? errorMessage(error) : (text.invalid[reason] ?? text.invalid['format'] ?? ''))

/** Entries of a list are lines of its control. */
const partName = (part: string): string =>
  /^\d+$/.test(part) ? text.form.line(String(Number(part) + 1)) : part
