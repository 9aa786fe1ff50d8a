import { TextInput } from '@mantine/core'
import { useId } from 'react'
import type { ControlProps } from '../../parts/form/fields.ts'
import { useUsers } from './queries.ts'

interface Props extends Omit<ControlProps<string>, 'error'> {
  readonly placeholder?: string // text for no user; without it a user is required
  readonly error?: string | null
}

/** A user id, with suggestions of existing users. */
export function UserSelect({ name, label, value, onChange, placeholder, error = null }: Props) {
  const id = useId()
  const users = useUsers().data ?? []
  return (
    <>
      <TextInput
        name={name}
        label={label}
        value={value}
        onChange={event => onChange(event.currentTarget.value)}
        list={id}
        error={error}
        autoCapitalize="none"
        autoComplete="off"
        {...(placeholder === undefined ? { required: true, 'data-autofocus': true } : { placeholder })}
      />
      <datalist id={id}>
        {users.map(({ user_id, display_name }) => (
          <option key={user_id} value={user_id}>
            {display_name}
          </option>
        ))}
      </datalist>
    </>
  )
}
