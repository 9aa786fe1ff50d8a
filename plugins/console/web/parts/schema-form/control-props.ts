import { text } from '../../text/text.ts'
import { fieldError } from '../form/field-error.ts'
import { controlKind, type Schema, type Schemas, titleOf, unitOf } from './schema.ts'

export interface FieldProps {
  readonly name: string // a path; its last part is the key
  readonly schema: Schema
  readonly schemas: Schemas
  readonly value: unknown
  readonly onChange: (value: unknown) => void
  readonly error: Error | null // of the whole form
  readonly required?: boolean
}

/** Returns the props that all controls share: label, description, error. */
export function controlProps({ name, schema, error, required = false }: FieldProps) {
  const key = name.split('.').at(-1) ?? name
  const kind = controlKind(schema)
  const unit = unitOf(key)
  const title = text.fields[key] ?? titleOf(key, schema)
  return {
    label: unit === undefined || takesPrefix(unit) ? title : `${title} (${unit})`,
    description: text.fieldHints[key] ?? schema.description,
    error: fieldError(error, name, kind === 'object' ? undefined : 'parts'),
    required,
    name,
    inputWrapperOrder: ['label', 'input', 'description', 'error'] satisfies (
      | 'label'
      | 'input'
      | 'description'
      | 'error'
    )[]
  }
}

/** Such fields are written with their unit. */
const takesPrefix = (unit: string): boolean => unit === 'bit/s' || unit === 'B'

/** Returns the label of a choice. Choices of external plugins show their value. */
export const choiceName = (name: string, choice: string): string =>
  text.choices[name.split('.').at(-1) ?? name]?.[choice] ?? choice

export const exampleOf = ({ examples: [example] = [] }: Schema): string | undefined =>
  typeof example === 'string' || typeof example === 'number' ? String(example) : undefined
