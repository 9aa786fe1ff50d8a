import { Group, NativeSelect } from '@mantine/core'
import { useState } from 'react'
import { text } from '../../text/text.ts'
import type { ControlProps } from './fields.ts'
import { NumberField } from './NumberField.tsx'

const units = { MB: 1e6, GB: 1e9, TB: 1e12 } as const
type Unit = keyof typeof units

/** An amount of bytes, as a number and a unit. */
export function SizeField({ name, label, value, onChange, error }: ControlProps<number | null>) {
  const [unit, setUnit] = useState<Unit>(() => unitOf(value))
  const [amount, setAmount] = useState<number | string>(() =>
    value === null ? '' : value / units[unitOf(value)]
  )
  const change = (amount: number | string, unit: Unit): void => {
    setAmount(amount)
    setUnit(unit)
    onChange(amount === '' ? null : Math.round(Number(amount) * units[unit]))
  }
  return (
    <Group align="start" wrap="nowrap">
      <NumberField
        name={name}
        label={label}
        description={text.quotas.sizeHint}
        inputWrapperOrder={['label', 'input', 'description', 'error']}
        value={amount}
        onChange={amount => change(amount, unit)}
        error={error}
        allowDecimal
        required
        flex={1}
      />
      <NativeSelect
        label={text.quotas.unit}
        data={Object.keys(units)}
        value={unit}
        onChange={event => change(amount, event.currentTarget.value as Unit)}
        w="6rem"
      />
    </Group>
  )
}

const unitOf = (bytes: number | null): Unit => {
  if (bytes !== null && bytes > 0 && bytes < units.GB) return 'MB'
  return bytes !== null && bytes >= units.TB ? 'TB' : 'GB'
}
