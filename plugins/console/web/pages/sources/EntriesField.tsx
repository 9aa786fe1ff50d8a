import { Textarea } from '@mantine/core'
import { text } from '../../text/text.ts'

interface Props {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly error: string | null
}

export const EntriesField = ({ value, onChange, error }: Props) => (
  <Textarea
    label={text.sources.entries}
    description={text.sources.entriesHint}
    rows={12}
    value={value}
    onChange={event => onChange(event.currentTarget.value)}
    error={error}
    spellCheck={false}
    classNames={{ input: 'mono' }}
  />
)
