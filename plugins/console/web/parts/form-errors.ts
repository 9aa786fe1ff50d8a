import { errorOf } from '../api/api-error.ts'
import { withoutField } from './field-error.ts'

interface FormErrors {
  readonly at: (field: string) => string | null
  readonly rest: Error | null // belongs to no field
}

/** Where the error of a form stands. `fields`: each field, with the codes of errors that are its own and do not name it. */
export function formErrors(
  thrown: Error | null,
  fields: Readonly<Record<string, readonly string[]>>
): FormErrors {
  if (thrown === null) return { at: () => null, rest: null }
  const { field: named, code, message } = errorOf(thrown)
  const field = Object.keys(fields).find(
    name => fields[name]?.includes(code) || named === name || named?.startsWith(`${name}.`)
  )
  return {
    at: name => (name === field ? withoutField(message) : null),
    rest: field === undefined ? thrown : null
  }
}
