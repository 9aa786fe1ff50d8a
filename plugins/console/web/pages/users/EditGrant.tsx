import { Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { notify } from '../../app/notices.ts'
import { Form } from '../../parts/Form.tsx'
import { formErrors } from '../../parts/form-errors.ts'
import { LabelsField } from '../../parts/LabelsField.tsx'
import { labelsPatch } from '../../parts/labels.ts'
import { text } from '../../text/text.ts'
import { type Grant, nameOf } from './grant.tsx'

/** Note and labels: what a grant allows does not change. */
export function EditGrant({ grant, onDone }: { readonly grant: Grant; readonly onDone: () => void }) {
  const [note, setNote] = useState(grant.note ?? '')
  const [labels, setLabels] = useState(grant.labels)
  const change = useMutation({
    meta: { shown: true },
    mutationFn: () =>
      call('PATCH /v1/grants/{grant_id}', {
        path: { grant_id: grant.grant_id },
        body: {
          note: note.trim() === '' ? null : note.trim(),
          labels: { ...labelsPatch(grant.labels, labels) }
        }
      }),
    onSuccess: () => {
      notify(text.saved)
      onDone()
    }
  })
  const { at, rest } = formErrors(change.error, { note: [], labels: [] })
  return (
    <Form
      does={text.save}
      isBusy={change.isPending}
      error={rest}
      onSubmit={() => change.mutate()}
      onCancel={onDone}
    >
      <Text size="sm">{nameOf(grant)}</Text>
      <TextInput
        label={text.grants.note}
        value={note}
        onChange={event => setNote(event.currentTarget.value)}
        error={at('note')}
        data-autofocus
      />
      <LabelsField value={labels} onChange={setLabels} error={at('labels')} />
    </Form>
  )
}
