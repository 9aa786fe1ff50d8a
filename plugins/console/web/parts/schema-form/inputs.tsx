import { NativeSelect, Textarea, TextInput, type TextInputProps } from '@mantine/core'
import { useState } from 'react'
import { exactQuantity, parseQuantity, type Unit } from '../../../../http/page-exports.ts'
import { text } from '../../text/text.ts'
import { NumberField } from '../form/NumberField.tsx'
import { choiceName, controlProps, exampleOf, type FieldProps } from './control-props.ts'
import { unitOf } from './schema.ts'

export function ChoiceInput(props: FieldProps) {
  const { name, schema, value, onChange } = props
  const choices = schema.enum ?? []
  return (
    <NativeSelect
      {...controlProps(props)}
      data={[
        { value: '', label: text.form.default },
        ...choices.map(choice => ({ value: String(choice), label: choiceName(name, String(choice)) }))
      ]}
      value={value === undefined || value === null ? '' : String(value)}
      onChange={({ currentTarget: { value } }) => onChange(choices.find(choice => String(choice) === value))}
    />
  )
}

export function AmountInput(props: FieldProps) {
  const { name, schema, value, onChange } = props
  const unit = quantityUnit(name)
  const [example] = schema.examples ?? []
  if (unit !== null)
    return (
      <QuantityInput
        {...controlProps(props)}
        unit={unit}
        value={value}
        onChange={onChange}
        {...(typeof example === 'number' && { example })}
      />
    )
  return (
    <NumberField
      {...controlProps(props)}
      value={typeof value === 'number' ? value : ''}
      allowDecimal={schema.type === 'number'}
      placeholder={exampleOf(schema)}
      onChange={next => onChange(next === '' ? undefined : next)}
    />
  )
}

/** Returns the unit of a rate or a size; null for other fields. */
export function quantityUnit(name: string): Unit | null {
  const unit = unitOf(name)
  return unit === 'bit/s' || unit === 'B' ? unit : null
}

interface QuantityProps extends Omit<TextInputProps, 'value' | 'onChange'> {
  readonly unit: Unit
  readonly value: unknown // a number; a text that is no quantity; or nothing
  readonly onChange: (value: number | string | undefined) => void
  readonly example?: number
}

/** A rate or a size as people write it: '50 Mbit/s', '10 GB', '1500'. */
export function QuantityInput({ unit, value, onChange, example, error, ...control }: QuantityProps) {
  const [typed, type] = useState(() => (typeof value === 'number' ? exactQuantity(value, unit) : ''))
  return (
    <TextInput
      {...control}
      error={error ?? (typeof value === 'string' && text.form.quantity(unit))}
      value={typed}
      placeholder={example === undefined ? undefined : exactQuantity(example, unit)}
      autoCapitalize="none"
      spellCheck={false}
      onChange={({ currentTarget: { value: words } }) => {
        type(words)
        const trimmed = words.trim()
        onChange(trimmed === '' ? undefined : parseAmount(trimmed, unit)) // the server refuses other text
      }}
    />
  )
}

const parseAmount = (words: string, unit: Unit): number | string =>
  /^\d{1,15}$/.test(words) ? Number(words) : (parseQuantity(words, unit) ?? words)

/** A list of words, one per line. */
export function TextsInput(props: FieldProps) {
  const { schema, value, onChange } = props
  const [example] = schema.examples ?? []
  const lines = Array.isArray(value) ? value.join('\n') : ''
  return (
    <Textarea
      {...controlProps(props)}
      autosize={false}
      rows={Math.min(8, Math.max(2, lines.split('\n').length))}
      defaultValue={lines}
      placeholder={Array.isArray(example) ? example.join('\n') : undefined}
      autoCapitalize="none"
      spellCheck={false}
      onChange={event => {
        const words = event.currentTarget.value.split(/[\s,]+/).filter(Boolean)
        onChange(words.length === 0 ? undefined : words)
      }}
    />
  )
}
