import { Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { call, type Versioned, versioned } from '../../api/call.ts'
import { notify } from '../../app/notices.ts'
import { Form } from '../../parts/form/Form.tsx'
import { FreshRecord } from '../../parts/form/FreshRecord.tsx'
import { formErrors } from '../../parts/form/form-errors.ts'
import { LabelsField } from '../../parts/form/LabelsField.tsx'
import { labelText } from '../../parts/form/labels.ts'
import { useFieldsEdit } from '../../parts/form/use-fields-edit.tsx'
import { text } from '../../text/text.ts'
import { type Grant, nameOf } from './grant-columns.tsx'

const readGrant = (grant_id: string) => versioned('GET /v1/grants/{grant_id}', { path: { grant_id } })

interface Props {
  readonly grant: Grant
  readonly onDone: () => void
}

/** Edits note and labels. Permissions of a grant do not change. */
export const EditGrant = ({ grant: { grant_id }, onDone }: Props) => (
  <FreshRecord queryKey={['grant', grant_id]} read={() => readGrant(grant_id)}>
    {opened => <Fields opened={opened} onDone={onDone} />}
  </FreshRecord>
)

function Fields({ opened, onDone }: { readonly opened: Versioned<Grant>; readonly onDone: () => void }) {
  const grant = opened.value
  const [note, setNote] = useState(grant.note ?? '')
  const [labels, setLabels] = useState(grant.labels)
  const { submit, change, conflict } = useFieldsEdit(opened, {
    fieldsOf: ({ note, labels }) => ({ note, labels }),
    values: { note: note.trim() || null, labels },
    read: () => readGrant(grant.grant_id),
    save: (body, headers) =>
      call('PATCH /v1/grants/{grant_id}', { path: { grant_id: grant.grant_id }, body, headers }),
    onDone,
    onSaved: () => notify(text.saved),
    describe: {
      note: [text.grants.note, value => value],
      labels: [text.labels.title, labelText]
    }
  })
  const { errorAt, generalError } = formErrors(change.error, { note: [], labels: [] })
  return (
    <Form
      submitLabel={text.save}
      isBusy={change.isPending}
      error={generalError}
      onSubmit={submit}
      onCancel={onDone}
    >
      <Text size="sm">{nameOf(grant)}</Text>
      <TextInput
        label={text.grants.note}
        value={note}
        onChange={event => setNote(event.currentTarget.value)}
        error={errorAt('note')}
        data-autofocus
      />
      <LabelsField value={labels} onChange={setLabels} error={errorAt('labels')} />
      {conflict}
    </Form>
  )
}
