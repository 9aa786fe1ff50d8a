import { TextInput, type TextInputProps } from '@mantine/core'
import { useState } from 'react'

interface Props extends Omit<TextInputProps, 'value' | 'onChange'> {
  readonly value: number | string // '': none
  readonly onChange: (value: number | '') => void
  readonly allowDecimal?: boolean
}

/** A number that is not negative. Other characters are not taken; the server judges the size. */
export function NumberField({ value, onChange, allowDecimal = false, ...rest }: Props) {
  const [typed, setTyped] = useState<string | null>(null) // while it has the focus
  const accepted = allowDecimal ? /^\d*(\.\d*)?$/ : /^\d*$/
  const change = (next: string): void => {
    if (!accepted.test(next)) return
    setTyped(next)
    onChange(toNumber(next))
  }
  return (
    <TextInput
      {...rest}
      inputMode={allowDecimal ? 'decimal' : 'numeric'}
      value={typed ?? String(value)}
      onFocus={() => setTyped(String(value))}
      onBlur={() => setTyped(null)}
      onChange={event => change(event.currentTarget.value.trim())}
    />
  )
}

const toNumber = (text: string): number | '' => (/\d/.test(text) ? Number(text) : '')
