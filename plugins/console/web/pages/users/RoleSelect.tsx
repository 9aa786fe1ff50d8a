import { NativeSelect } from '@mantine/core'
import type { ControlProps } from '../../parts/form/fields.ts'
import { toOptions } from '../../parts/form/to-options.ts'
import { text } from '../../text/text.ts'
import type { User } from './queries.ts'

export const RoleSelect = ({ label, value, onChange, error }: ControlProps<User['role']>) => (
  <NativeSelect
    label={label}
    description={text.users.roleHint}
    data={toOptions(text.users.roles)}
    value={value}
    onChange={event => onChange(event.currentTarget.value as User['role'])}
    error={error}
  />
)
