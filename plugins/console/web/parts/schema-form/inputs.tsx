import { NativeSelect, NumberInput, Textarea, TextInput } from '@mantine/core'
import { useState } from 'react'
import { exactQuantity, parseQuantity, type Unit } from '../../../../http/list/quantity.ts' // all exports would load server code
import { text } from '../../text/text.ts'
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
  const unit = unitOf(name)
  if (unit === 'bit/s' || unit === 'B') return <QuantityInput {...props} unit={unit} />
  return (
    <NumberInput
      {...controlProps(props)}
      value={typeof value === 'number' ? value : ''}
      {...(schema.minimum !== undefined && { min: schema.minimum })}
      {...(schema.maximum !== undefined && { max: schema.maximum })}
      clampBehavior="none"
      allowDecimal={schema.type === 'number'}
      hideControls
      inputMode="numeric"
      placeholder={exampleOf(schema)}
      onChange={next => onChange(typeof next === 'number' ? next : undefined)}
    />
  )
}

/** A rate or a size as people write it: '50 Mbit/s', '10 GB', '1500'. */
function QuantityInput({ unit, ...props }: FieldProps & { readonly unit: Unit }) {
  const { schema, value, onChange } = props
  const [typed, type] = useState(() => (typeof value === 'number' ? exactQuantity(value, unit) : ''))
  const { error, ...control } = controlProps(props)
  const [example] = schema.examples ?? []
  return (
    <TextInput
      {...control}
      error={error ?? (typeof value === 'string' && text.form.quantity(unit))}
      value={typed}
      placeholder={typeof example === 'number' ? exactQuantity(example, unit) : undefined}
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
