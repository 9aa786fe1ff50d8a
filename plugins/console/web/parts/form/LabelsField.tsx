import { text } from '../../text/text.ts'
import { LabelsInput } from '../schema-form/LabelsInput.tsx'
import type { Labels } from './labels.ts'

interface Props {
  readonly value: Labels
  readonly onChange: (labels: Labels) => void
  readonly error: string | null
}

export const LabelsField = ({ onChange, ...shown }: Props) => (
  <LabelsInput
    {...shown}
    name="labels"
    label={text.optional(text.labels.title)}
    description={text.labels.hint}
    onChange={labels => onChange((labels ?? {}) as Labels)}
  />
)
