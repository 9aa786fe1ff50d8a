import { errorOf } from '../api/api-error.ts'

/**
 * Returns what is wrong with a field of a form, or null. `name` is its path in the body: 'listen_port', 'targets.0.host'.
 * `parts`: the field stands for all parts of its value, such as the labels by any name.
 */
export function fieldError(thrown: Error | null, name: string, parts?: 'parts'): string | null {
  if (thrown === null) return null
  const { field, message } = errorOf(thrown)
  if (field === name) return withoutField(message)
  return parts && field?.startsWith(`${name}.`) ? withoutField(message, field.slice(name.length + 1)) : null
}

/** '/targets/0/port must be <= 65535' is 'Must be <= 65535': it stands at its field. Of a part its name is kept. */
export function withoutField(message: string, part = ''): string {
  const said = message.replace(/^\/\S+:?\s+/, '')
  if (part !== '') return `${part}: ${said}`
  return said.slice(0, 1).toUpperCase() + said.slice(1)
}
