import { toApiError } from '../../api/api-error.ts'

/**
 * Returns the error of a form field, or null. `name` is its path in the body: 'listen_port', 'targets.0.host'.
 * 'parts' includes errors of nested fields, such as a single label.
 */
export function fieldError(thrown: Error | null, name: string, parts?: 'parts'): string | null {
  if (thrown === null) return null
  const { field, message } = toApiError(thrown)
  if (field === name) return withoutField(message)
  return parts && field?.startsWith(`${name}.`) ? withoutField(message, field.slice(name.length + 1)) : null
}

/** Removes the path that the field already shows: '/targets/0/port must be <= 65535' becomes 'Must be <= 65535'. */
export function withoutField(message: string, part = ''): string {
  const said = message.replace(/^\/\S+:?\s+/, '')
  if (part !== '') return `${part}: ${said}`
  return said.slice(0, 1).toUpperCase() + said.slice(1)
}
