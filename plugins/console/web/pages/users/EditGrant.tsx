import { Text, TextInput } from '@mantine/core'
import { call, type Versioned, versioned } from '../../api/call.ts'
import { Form } from '../../parts/form/Form.tsx'
import { FreshRecord } from '../../parts/form/FreshRecord.tsx'
import { LabelsField, labelsField } from '../../parts/form/LabelsField.tsx'
import { useEditForm } from '../../parts/form/use-edit-form.tsx'
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
    {opened => <NoteAndLabels opened={opened} onDone={onDone} />}
  </FreshRecord>
)

const fields = { note: { label: text.grants.note }, labels: labelsField }

interface FormProps {
  readonly opened: Versioned<Grant>
  readonly onDone: () => void
}

function NoteAndLabels({ opened, onDone }: FormProps) {
  const { grant_id } = opened.value
  const { field, input, form, conflict } = useEditForm(opened, {
    fields,
    toValues: ({ note, labels }) => ({ note: note ?? '', labels }),
    toBody: ({ note, labels }) => ({ note: note.trim() || null, labels }),
    read: () => readGrant(grant_id),
    save: (body, headers) => call('PATCH /v1/grants/{grant_id}', { path: { grant_id }, body, headers }),
    sends: 'changes',
    notice: () => text.saved,
    onDone
  })
  return (
    <Form {...form} submitLabel={text.save} onCancel={onDone}>
      <Text size="sm">{nameOf(opened.value)}</Text>
      <TextInput {...input('note')} data-autofocus />
      <LabelsField {...field('labels')} />
      {conflict}
    </Form>
  )
}
