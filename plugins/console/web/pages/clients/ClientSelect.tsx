import { NativeSelect } from '@mantine/core'
import { useEdges } from './queries.ts'

interface Props {
  readonly label: string
  readonly value: string
  readonly onChange: (client_id: string) => void
  readonly first?: { readonly value: string; readonly label: string } // in place of an edge
  readonly error?: string | null
}

/** Chooses an edge that the caller may see. */
export function EdgeSelect({ label, value, onChange, first, error = null }: Props) {
  const edges = useEdges().data ?? []
  return (
    <NativeSelect
      label={label}
      data={[
        ...(first ? [first] : []),
        ...edges.map(({ client_id, client_name }) => ({ value: client_id, label: client_name }))
      ]}
      value={value}
      onChange={event => onChange(event.currentTarget.value)}
      error={error}
    />
  )
}
