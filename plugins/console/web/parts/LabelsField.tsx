import { Textarea } from '@mantine/core'
import { text } from '../text/text.ts'

interface Props {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly error: string | null
}

export const LabelsField = ({ value, onChange, error }: Props) => (
  <Textarea
    label={`${text.labels.title} (${text.grants.optional})`}
    description={text.labels.hint}
    rows={2}
    value={value}
    onChange={event => onChange(event.currentTarget.value)}
    error={error}
    autoCapitalize="none"
    spellCheck={false}
  />
)
