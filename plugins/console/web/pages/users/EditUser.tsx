import { TextInput } from '@mantine/core'
import { useState } from 'react'
import { call, type Versioned } from '../../api/client.ts'
import { useEdit } from '../../api/use-edit.ts'
import { notify } from '../../app/notices.ts'
import { Form } from '../../parts/Form.tsx'
import { formErrors } from '../../parts/form-errors.ts'
import { LabelsField } from '../../parts/LabelsField.tsx'
import { labelsPatch, labelText } from '../../parts/labels.ts'
import { Overtaken } from '../../parts/Overtaken.tsx'
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
  const { change, theirs } = useEdit<User, User['labels']>(opened, {
    read: () => readUser(user_id),
    save: (labels, headers) =>
      call('PATCH /v1/users/{user_id}', {
        path: { user_id },
        body: { display_name: name, role: role as User['role'], labels },
        headers
      }),
    onSaved: () => {
      notify(text.saved)
      onDone()
    }
  })
  const { at, rest } = formErrors(change.error, {
    display_name: ['invalid_display_name'],
    role: ['cannot_remove_self', 'last_superadmin'],
    labels: []
  })
  const patch = labelsPatch((theirs ?? before).labels, labels) as User['labels'] // null removes one
  return (
    <Form
      does={text.save}
      isBusy={change.isPending}
      error={rest}
      onSubmit={() => change.mutate(patch)}
      onCancel={onDone}
    >
      <TextInput
        label={text.users.name}
        value={name}
        onChange={event => setName(event.currentTarget.value)}
        error={at('display_name')}
        data-autofocus
        required
      />
      <RoleSelect value={role} onChange={setRole} error={at('role')} />
      <LabelsField value={labels} onChange={setLabels} error={at('labels')} />
      {theirs && (
        <Overtaken
          fields={[
            { name: text.users.name, now: theirs.display_name, mine: name },
            {
              name: text.users.role,
              now: text.users.roles[theirs.role],
              mine: text.users.roles[role as User['role']]
            },
            { name: text.labels.title, now: labelText(theirs.labels), mine: labelText(labels) }
          ]}
        />
      )}
    </Form>
  )
}
