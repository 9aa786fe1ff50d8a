import { Checkbox, NativeSelect, PasswordInput, TextInput } from '@mantine/core'
import { toApiError } from '../../api/api-error.ts'
import { call } from '../../api/call.ts'
import { notify } from '../../app/notices.ts'
import { Form } from '../../parts/form/Form.tsx'
import { LabelsField, labelsField } from '../../parts/form/LabelsField.tsx'
import type { Labels } from '../../parts/form/labels.ts'
import { toOptions } from '../../parts/form/to-options.ts'
import { useForm } from '../../parts/form/use-form.ts'
import { Secret } from '../../parts/Secret.tsx'
import { text } from '../../text/text.ts'
import type { User } from './queries.ts'
import { RoleSelect } from './RoleSelect.tsx'

const initial = {
  user_id: '',
  display_name: '',
  role: 'user' as User['role'],
  kind: 'user' as User['kind'],
  signIn: 'temporary' as keyof typeof text.users.signIns,
  initial_password: '', // of the sign-in 'chosen'
  password_change_required: true,
  labels: {} as Labels
}

const fields = {
  user_id: {
    label: text.users.id,
    description: text.users.idHint,
    codes: ['invalid_user_id', 'reserved_user_id', 'user_already_exists']
  },
  display_name: { label: text.users.name, codes: ['invalid_display_name'] },
  role: { label: text.users.role },
  kind: { label: text.users.kind, description: text.users.kindHint },
  signIn: { label: text.users.signIn },
  initial_password: {
    label: text.users.password,
    description: text.users.passwordHint,
    codes: ['password_too_short', 'password_too_long', 'password_too_weak', 'initial_password_required']
  },
  password_change_required: { label: text.users.mustChange },
  labels: labelsField
}

/** Creates a user. A temporary password needs a second request; it is shown once. */
export function NewUser({ onDone }: { readonly onDone: (id: string | null) => void }) {
  const { values, field, input, checkbox, form, result } = useForm({
    initial,
    fields,
    save: createUser,
    notice: ({ user_id }) => text.users.createdNotice(user_id),
    onDone: ({ user_id, temporary }) => temporary === null && onDone(user_id)
  })
  const { temporary, user_id = '' } = result ?? {}
  if (temporary != null)
    return (
      <Secret name={text.users.temporaryPassword(user_id)} value={temporary} onDone={() => onDone(user_id)} />
    )
  return (
    <Form {...form} submitLabel={text.users.submit}>
      <TextInput {...input('user_id')} autoCapitalize="none" spellCheck={false} data-autofocus required />
      <TextInput {...input('display_name')} required />
      <RoleSelect {...field('role')} />
      <NativeSelect {...input('kind')} data={toOptions(text.users.kinds)} />
      {values.kind === 'user' && <NativeSelect {...input('signIn')} data={toOptions(text.users.signIns)} />}
      {values.kind === 'user' && values.signIn === 'chosen' && (
        <>
          <PasswordInput {...input('initial_password')} autoComplete="new-password" required />
          <Checkbox {...checkbox('password_change_required')} />
        </>
      )}
      <LabelsField {...field('labels')} />
    </Form>
  )
}

async function createUser(values: typeof initial) {
  const { user_id, display_name, role, kind, labels, initial_password, password_change_required } = values
  const signIn = kind === 'service' ? 'none' : values.signIn
  await call('POST /v1/users', {
    body: {
      user_id,
      display_name,
      role,
      kind,
      labels,
      ...(signIn === 'chosen' && { initial_password, password_change_required })
    }
  })
  return { user_id, temporary: signIn === 'temporary' ? await createTemporaryPassword(user_id) : null }
}

/** Returns null on failure. The user then exists without a password, and the page of the user can reset it. */
async function createTemporaryPassword(user_id: string): Promise<string | null> {
  try {
    const reset = await call('POST /v1/users/{user_id}/password', { path: { user_id }, body: {} })
    return reset.temporary_password ?? null
  } catch (thrown) {
    notify(toApiError(thrown))
    return null
  }
}
