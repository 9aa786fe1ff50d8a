import { NativeSelect } from '@mantine/core'
import { text } from '../../text/text.ts'
import { type Range, ranges } from './traffic-history.ts'

interface Props {
  readonly value: Range
  readonly onChange: (range: Range) => void
  readonly of?: readonly Range[] // default: all
}

const all = Object.keys(ranges) as Range[]

/** Selects the span of charts, without a visible label. */
export const RangeSelect = ({ value, onChange, of = all }: Props) => (
  <NativeSelect
    size="xs"
    aria-label={text.traffic.range}
    data={of.map(range => ({ value: range, label: text.traffic.ranges[range] }))}
    value={value}
    onChange={event => onChange(event.currentTarget.value as Range)}
  />
)
