import { TextInput } from '@mantine/core'
import { useState } from 'react'
import { call, type Versioned } from '../../api/call.ts'
import { notify } from '../../app/notices.ts'
import { Form } from '../../parts/form/Form.tsx'
import { formErrors } from '../../parts/form/form-errors.ts'
import { LabelsField } from '../../parts/form/LabelsField.tsx'
import { labelText } from '../../parts/form/labels.ts'
import { useFieldsEdit } from '../../parts/form/use-fields-edit.tsx'
import { text } from '../../text/text.ts'
import { readUser, type User } from './queries.ts'
import { RoleSelect } from './RoleSelect.tsx'

interface Props {
  readonly opened: Versioned<User>
  readonly onDone: () => void
}

export function EditUser({ opened, onDone }: Props) {
  const { user_id, ...before } = opened.value
  const [name, setName] = useState(before.display_name)
  const [role, setRole] = useState<string>(before.role)
  const [labels, setLabels] = useState(before.labels)
  const { submit, change, conflict } = useFieldsEdit(opened, {
    fieldsOf: ({ display_name, role, labels }) => ({ display_name, role, labels }),
    values: { display_name: name, role: role as User['role'], labels },
    read: () => readUser(user_id),
    save: (body, headers) => call('PATCH /v1/users/{user_id}', { path: { user_id }, body, headers }),
    onDone,
    onSaved: () => notify(text.saved),
    describe: {
      display_name: [text.users.name, value => value],
      role: [text.users.role, value => text.users.roles[value]],
      labels: [text.labels.title, labelText]
    }
  })
  const { errorAt, generalError } = formErrors(change.error, {
    display_name: ['invalid_display_name'],
    role: ['cannot_remove_self', 'last_superadmin'],
    labels: []
  })
  return (
    <Form
      submitLabel={text.save}
      isBusy={change.isPending}
      error={generalError}
      onSubmit={submit}
      onCancel={onDone}
    >
      <TextInput
        label={text.users.name}
        value={name}
        onChange={event => setName(event.currentTarget.value)}
        error={errorAt('display_name')}
        data-autofocus
        required
      />
      <RoleSelect value={role} onChange={setRole} error={errorAt('role')} />
      <LabelsField value={labels} onChange={setLabels} error={errorAt('labels')} />
      {conflict}
    </Form>
  )
}
