import { NativeSelect } from '@mantine/core'
import type { ControlProps } from '../../parts/form/fields.ts'
import { text } from '../../text/text.ts'
import type { User } from './queries.ts'

export const RoleSelect = ({ label, value, onChange, error }: ControlProps<User['role']>) => (
  <NativeSelect
    label={label}
    description={text.users.roleHint}
    data={(['user', 'viewer', 'operator', 'superadmin'] as const).map(role => ({
      value: role,
      label: text.users.roles[role]
    }))}
    value={value}
    onChange={event => onChange(event.currentTarget.value as User['role'])}
    error={error}
  />
)
