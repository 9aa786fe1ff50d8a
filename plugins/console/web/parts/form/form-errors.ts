import { toApiError } from '../../api/api-error.ts'
import { errorMessage } from './error-message.ts'
import { fieldError } from './field-error.ts'

interface FormErrors {
  readonly errorAt: (field: string) => string | null
  readonly generalError: Error | null // an error without a field
}

/** Assigns the errors of a form to its fields, by the names of the fields or by the error code that belongs to one. */
export function formErrors(
  thrown: Error | null,
  fields: Readonly<Record<string, { readonly codes?: readonly string[] }>>
): FormErrors {
  if (thrown === null) return { errorAt: () => null, generalError: null }
  const error = toApiError(thrown)
  const names = Object.keys(fields)
  const byCode = names.find(name => fields[name]?.codes?.includes(error.code))
  const errorAt = (name: string): string | null =>
    name === byCode ? errorMessage(error) : fieldError(error, name, 'parts')
  return { errorAt, generalError: names.some(name => errorAt(name) !== null) ? null : thrown }
}
