import { toApiError } from '../../api/api-error.ts'
import { errorMessage } from './error-message.ts'
import { withoutField } from './field-error.ts'

interface FormErrors {
  readonly errorAt: (field: string) => string | null
  readonly generalError: Error | null // an error without a field
}

/** Assigns the error of a form to a field, by the name of the field or by the error codes that belong to it. */
export function formErrors(
  thrown: Error | null,
  fields: Readonly<Record<string, { readonly codes?: readonly string[] }>>
): FormErrors {
  if (thrown === null) return { errorAt: () => null, generalError: null }
  const error = toApiError(thrown)
  const { field: named, code } = error
  const field = Object.keys(fields).find(
    name => fields[name]?.codes?.includes(code) || named === name || named?.startsWith(`${name}.`)
  )
  return {
    errorAt: name => (name === field ? withoutField(errorMessage(error)) : null),
    generalError: field === undefined ? thrown : null
  }
}
