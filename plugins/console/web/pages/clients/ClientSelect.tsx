import { NativeSelect } from '@mantine/core'
import type { ControlProps } from '../../parts/form/fields.ts'
import { useClients } from './queries.ts'

interface Props extends Omit<ControlProps<string>, 'error'> {
  readonly first?: { readonly value: string; readonly label: string } // an option besides the clients
  readonly error?: string | null
}

/** Selects a client that the user may see. */
export function ClientSelect({ name, label, value, onChange, first, error = null }: Props) {
  const clients = useClients().data ?? []
  return (
    <NativeSelect
      name={name}
      label={label}
      data={[
        ...(first ? [first] : []),
        ...clients.map(({ client_id, client_name }) => ({ value: client_id, label: client_name }))
      ]}
      value={value}
      onChange={event => onChange(event.currentTarget.value)}
      error={error}
    />
  )
}
