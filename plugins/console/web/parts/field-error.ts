import { errorOf } from '../api/error.ts'

/** Returns what is wrong with a field of a form, or null. `name` is its path in the body: 'listen_port', 'targets.0.host'. */
export function fieldError(thrown: Error | null, name: string): string | null {
  if (thrown === null) return null
  const { field, details, message } = errorOf(thrown)
  if (field !== name) return null
  return typeof details['reason'] === 'string' ? details['reason'] : message
}
