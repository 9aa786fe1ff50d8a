// The fields of a new password and of its repetition.
import type { Field } from '../../parts/form/fields.ts'
import { text } from '../../text/text.ts'

const minLength = 12

/** A password that the user chooses. */
export const newPasswordField = (label: string, description?: string): Field<string> => ({
  label,
  ...(description !== undefined && { description }),
  codes: ['password_too_short', 'password_too_long', 'password_too_weak', 'password_unchanged'],
  check: password => (password.length < minLength ? text.password.isShort : null)
})

/** The same password again. `name`: the field of the first one. */
export const repeatedPasswordField = <N extends string>(label: string, name: N) => ({
  label,
  codes: ['password_mismatch'],
  check: (repeated: string, values: Readonly<Record<N, string>>) =>
    repeated === values[name] ? null : text.setup.mismatch
})
