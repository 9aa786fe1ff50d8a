import { Textarea } from '@mantine/core'
import { count } from '../../format.ts'
import type { ControlProps } from '../../parts/form/fields.ts'
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

export const EntriesField = ({ name, label, value, onChange, error }: ControlProps<string>) => (
  <Textarea
    name={name}
    label={label}
    description={text.sources.entriesHint}
    rows={12}
    value={value}
    onChange={event => onChange(event.currentTarget.value)}
    error={error}
    spellCheck={false}
    classNames={{ input: 'mono' }}
  />
)
