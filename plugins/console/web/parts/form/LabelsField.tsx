import { text } from '../../text/text.ts'
import { LabelsInput } from '../schema-form/LabelsInput.tsx'
import type { ControlProps, Field } from './fields.ts'
import { type Labels, labelText } from './labels.ts'

export const labelsField: Field<Labels> = { label: text.labels.title, format: labelText }

export const LabelsField = ({ value, onChange, error }: Omit<ControlProps<Labels>, 'label' | 'name'>) => (
  <LabelsInput
    name="labels"
    label={text.optional(text.labels.title)}
    description={text.labels.hint}
    value={value}
    onChange={labels => onChange((labels ?? {}) as Labels)}
    error={error}
  />
)
