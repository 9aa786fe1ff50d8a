import { TextInput } from '@mantine/core'
import { useState } from 'react'
import { Form } from '../../parts/form/Form.tsx'
import { LabelsInput } from '../../parts/schema-form/LabelsInput.tsx'
import type { Values } from '../../parts/schema-form/values.ts'
import { text } from '../../text/text.ts'
import type { Labels } from './change-rules.ts'

interface Props {
  readonly isBusy: boolean
  readonly onSubmit: (labels: Labels) => void
}

/** Labels to set and keys to remove, for several rules at once. */
export function LabelsForm({ isBusy, onSubmit }: Props) {
  const [set, setSet] = useState<Values>({})
  const [remove, setRemove] = useState('')
  const removedKeys = remove.split(/[\s,]+/).filter(Boolean)
  const patch = {
    ...Object.fromEntries(removedKeys.map(key => [key, null])),
    ...(set as Readonly<Record<string, string>>)
  }
  return (
    <Form
      submitLabel={text.rules.setLabels}
      isBusy={isBusy}
      error={null}
      onRefused={() => {}}
      onSubmit={() => Object.keys(patch).length > 0 && onSubmit(patch)}
    >
      <LabelsInput
        label={text.rules.labelsToSet}
        name="labels"
        error={null}
        value={set}
        onChange={next => setSet(next ?? {})}
      />
      <TextInput
        label={text.rules.labelsToRemove}
        description={text.rules.labelsToRemoveHint}
        value={remove}
        onChange={event => setRemove(event.currentTarget.value)}
        autoCapitalize="none"
      />
    </Form>
  )
}
