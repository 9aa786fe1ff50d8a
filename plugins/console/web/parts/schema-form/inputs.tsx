import { NativeSelect, NumberInput, Text, Textarea } from '@mantine/core'
import { bytes, rate } from '../../format.ts'
import { text } from '../../text/text.ts'
import { about, choiceName, exampleOf, type FieldProps } from './control-props.ts'
import { unitOf } from './schema.ts'

export function ChoiceInput(props: FieldProps) {
  const { name, schema, value, onChange } = props
  const choices = schema.enum ?? []
  return (
    <NativeSelect
      {...about(props)}
      data={[
        { value: '', label: text.form.usual },
        ...choices.map(choice => ({ value: String(choice), label: choiceName(name, String(choice)) }))
      ]}
      value={value === undefined || value === null ? '' : String(value)}
      onChange={({ currentTarget: { value } }) => onChange(choices.find(choice => String(choice) === value))}
    />
  )
}

/** A number with its unit, and what it comes to where that is hard to read. */
export function AmountInput(props: FieldProps) {
  const { name, schema, value, onChange } = props
  const comesTo = { 'bit/s': (n: number) => rate(n / 8), B: bytes }[unitOf(name) ?? '']
  return (
    <div>
      <NumberInput
        {...about(props)}
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
      {comesTo && typeof value === 'number' && value >= 1000 && (
        <Text size="xs" c="dimmed" mt={2}>
          = {comesTo(value)}
        </Text>
      )}
    </div>
  )
}

/** Several words, a line each. */
export function TextsInput(props: FieldProps) {
  const { schema, value, onChange } = props
  const [example] = schema.examples ?? []
  const lines = Array.isArray(value) ? value.join('\n') : ''
  return (
    <Textarea
      {...about(props)}
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
