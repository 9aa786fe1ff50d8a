import { TextInput } from '@mantine/core'
import { useId } from 'react'
import { useUsers } from './queries.ts'

interface Props {
  readonly label: string
  readonly value: string
  readonly onChange: (user_id: string) => void
  readonly placeholder?: string // what none means; without it one must be given
  readonly error?: string | null
}

/** Names a user: the browser offers those that there are. */
export function UserSelect({ label, value, onChange, placeholder, error = null }: Props) {
  const id = useId()
  const users = useUsers().data ?? []
  return (
    <>
      <TextInput
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
