import { NativeSelect } from '@mantine/core'
import { toOptions } from '../../parts/form/to-options.ts'
import { text } from '../../text/text.ts'
import type { User } from './queries.ts'

interface Props {
  readonly value: User['role']
  readonly onChange: (role: User['role']) => void
  readonly error: string | null
}

export const RoleSelect = ({ value, onChange, error }: Props) => (
  <NativeSelect
    label={text.users.role}
    description={text.users.roleHint}
    data={toOptions(text.users.roles)}
    value={value}
    onChange={event => onChange(event.currentTarget.value as User['role'])}
    error={error}
  />
)
