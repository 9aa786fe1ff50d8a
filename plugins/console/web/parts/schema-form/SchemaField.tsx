// A form control for one value, chosen by its JSON Schema.
import { Checkbox, SimpleGrid, Stack, TextInput } from '@mantine/core'
import { fromLocalInput, toLocalInput } from '../local-time.ts'
import { controlProps, exampleOf, type FieldProps } from './control-props.ts'
import { AmountInput, ChoiceInput, TextsInput } from './inputs.tsx'
import { JsonInput } from './JsonInput.tsx'
import { LabelsInput } from './LabelsInput.tsx'
import { controlKind, resolveSchema } from './schema.ts'
import { isObject, type Values } from './values.ts'

export function SchemaField(props: FieldProps) {
  const schema = resolveSchema(props.schema, props.schemas)
  const { value, onChange } = props
  const same = { ...props, schema }
  const shown = controlProps(same)
  const kind = controlKind(schema)
  if (kind === 'object') return <ObjectFields {...same} value={isObject(value) ? value : {}} />
  if (kind === 'map')
    return <LabelsInput {...shown} value={isObject(value) ? value : {}} onChange={onChange} />
  if (kind === 'texts') return <TextsInput {...same} />
  if (kind === 'number') return <AmountInput {...same} />
  if (kind === 'json') return <JsonInput {...shown} value={value} onChange={onChange} />
  if (kind === 'boolean') {
    const { inputWrapperOrder: _, ...checkbox } = shown
    return (
      <Checkbox
        {...checkbox}
        required={false}
        checked={value === true}
        onChange={event => onChange(event.currentTarget.checked || undefined)}
      />
    )
  }
  if (kind === 'choice') return <ChoiceInput {...same} />
  if (kind === 'time')
    return (
      <TextInput
        {...shown}
        type="datetime-local"
        value={toLocalInput(typeof value === 'string' ? value : null)}
        onChange={event => onChange(fromLocalInput(event.currentTarget.value) ?? undefined)}
      />
    )
  return (
    <TextInput
      {...shown}
      value={typeof value === 'string' ? value : ''}
      placeholder={exampleOf(schema)}
      autoCapitalize="none"
      onChange={event => onChange(event.currentTarget.value || undefined)}
    />
  )
}

/** The properties of an object, each with its own field. An object without properties is omitted. */
function ObjectFields(props: Omit<FieldProps, 'value'> & { readonly value: Values }) {
  const { name, schema, schemas, value, onChange, error } = props
  const { label, description, error: own } = controlProps(props)
  return (
    <fieldset className="fields">
      <legend>{label}</legend>
      <Stack gap="sm">
        {description && <p className="hint">{description}</p>}
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md" verticalSpacing="sm">
          {Object.entries(schema.properties ?? {}).map(([key, part]) => (
            <SchemaField
              key={key}
              name={`${name}.${key}`}
              schema={part}
              schemas={schemas}
              value={value[key]}
              onChange={next => onChange(withPart(value, key, next))}
              error={error}
              required={Object.keys(value).length > 0 && (schema.required?.includes(key) ?? false)}
            />
          ))}
        </SimpleGrid>
        {own !== null && (
          <p className="wrong" role="alert">
            {own}
          </p>
        )}
      </Stack>
    </fieldset>
  )
}

function withPart(value: Values, key: string, part: unknown): Values | undefined {
  const { [key]: _, ...rest } = value
  const next = part === undefined ? rest : { ...rest, [key]: part }
  return Object.keys(next).length === 0 ? undefined : next
}
