import { NativeSelect } from '@mantine/core'
import { text } from '../../text/text.ts'

/** Open connections stay, end after the drain time, or are cut. */
export type Existing = 'keep' | 'drain' | 'cut'

interface Props<E extends Existing> {
  readonly value: E
  readonly onChange: (existing: E) => void
  readonly of: readonly E[]
}

export const allExisting: readonly Existing[] = ['keep', 'drain', 'cut']

export const ExistingSelect = <E extends Existing>({ value, onChange, of }: Props<E>) => (
  <NativeSelect
    label={text.existing.label}
    data={of.map(choice => ({ value: choice, label: text.existing.choices[choice] }))}
    value={value}
    onChange={event => onChange(event.currentTarget.value as E)}
  />
)
