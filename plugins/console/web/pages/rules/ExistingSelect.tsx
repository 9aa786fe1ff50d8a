import { NativeSelect } from '@mantine/core'
import { toOptions } from '../../parts/form/to-options.ts'
import { text } from '../../text/text.ts'

/** Open connections stay, end after the drain time, or are cut. */
export type Existing = 'keep' | 'drain' | 'cut'

interface Props {
  readonly value: Existing
  readonly onChange: (existing: Existing) => void
}

export const ExistingSelect = ({ value, onChange }: Props) => (
  <NativeSelect
    label={text.existing.label}
    data={toOptions(text.existing.choices)}
    value={value}
    onChange={event => onChange(event.currentTarget.value as Existing)}
  />
)
