import { Textarea } from '@mantine/core'
import { count } from '../../format.ts'
import { text } from '../../text/text.ts'
import { parseEntries } from './parse-entries.ts'

const maxShown = 50

/** Lists the first entries, and the total number if there are more. */
function summarize(lines: string): string {
  const entries = parseEntries(lines)
  const more = entries.length > maxShown ? ` … (${count(entries.length)})` : ''
  return entries.slice(0, maxShown).join(' ') + more
}

export const entriesField = { label: text.sources.entries, codes: ['limit_reached'], format: summarize }

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
