import { TextInput } from '@mantine/core'
import { call, type Versioned } from '../../api/call.ts'
import { Form } from '../../parts/form/Form.tsx'
import { LabelsField, labelsField } from '../../parts/form/LabelsField.tsx'
import { useEditForm } from '../../parts/form/use-edit-form.tsx'
import { text } from '../../text/text.ts'
import { readUser, type User } from './queries.ts'
import { RoleSelect } from './RoleSelect.tsx'

interface Props {
  readonly opened: Versioned<User>
  readonly onDone: () => void
}

const fields = {
  display_name: { label: text.users.name, codes: ['invalid_display_name'] },
  role: {
    label: text.users.role,
    codes: ['cannot_remove_self', 'last_superadmin'],
    format: (role: User['role']) => text.users.roles[role]
  },
  labels: labelsField
}

export function EditUser({ opened, onDone }: Props) {
  const { user_id } = opened.value
  const { field, input, form, conflict } = useEditForm(opened, {
    fields,
    toValues: ({ display_name, role, labels }) => ({ display_name, role, labels }),
    toBody: values => values,
    read: () => readUser(user_id),
    save: (body, headers) => call('PATCH /v1/users/{user_id}', { path: { user_id }, body, headers }),
    sends: 'changes',
    notice: () => text.saved,
    onDone
  })
  return (
    <Form {...form} submitLabel={text.save} onCancel={onDone}>
      <TextInput {...input('display_name')} data-autofocus required />
      <RoleSelect {...field('role')} />
      <LabelsField {...field('labels')} />
      {conflict}
    </Form>
  )
}
