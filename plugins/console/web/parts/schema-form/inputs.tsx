import { NativeSelect, NumberInput, Text, Textarea } from '@mantine/core'
import { bytes, rate } from '../../format.ts'
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

/** A number with its unit. Large rates and sizes also show a readable form. */
export function AmountInput(props: FieldProps) {
  const { name, schema, value, onChange } = props
  const readable = { 'bit/s': (n: number) => rate(n / 8), B: bytes }[unitOf(name) ?? '']
  return (
    <div>
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
      {readable && typeof value === 'number' && value >= 1000 && (
        <Text size="xs" c="dimmed" mt={2}>
          = {readable(value)}
        </Text>
      )}
    </div>
  )
}

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
