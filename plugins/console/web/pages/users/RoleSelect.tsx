import { NativeSelect } from '@mantine/core'
import { text } from '../../text/text.ts'

interface Props {
  readonly value: string
  readonly onChange: (role: string) => void
  readonly error: string | null
}

export const RoleSelect = ({ value, onChange, error }: Props) => (
  <NativeSelect
    label={text.users.role}
    description={text.users.roleHint}
    data={(['user', 'superadmin'] as const).map(role => ({ value: role, label: text.users.roles[role] }))}
    value={value}
    onChange={event => onChange(event.currentTarget.value)}
    error={error}
  />
)
