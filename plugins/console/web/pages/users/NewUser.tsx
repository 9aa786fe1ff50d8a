import { Checkbox, NativeSelect, PasswordInput, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { toApiError } from '../../api/api-error.ts'
import { call } from '../../api/call.ts'
import { notify } from '../../app/notices.ts'
import { Form } from '../../parts/form/Form.tsx'
import { formErrors } from '../../parts/form/form-errors.ts'
import { LabelsField } from '../../parts/form/LabelsField.tsx'
import type { Labels } from '../../parts/form/labels.ts'
import { Secret } from '../../parts/Secret.tsx'
import { text } from '../../text/text.ts'
import { RoleSelect } from './RoleSelect.tsx'

interface SignIn {
  readonly method: keyof typeof text.users.signIns
  readonly password: string // of the method 'chosen'
  readonly mustChange: boolean
}

const blank = { user_id: '', display_name: '', role: 'user', labels: {} as Labels }

/** Creates a user. A temporary password needs a second request; it is shown once. */
export function NewUser({ onDone }: { readonly onDone: (id: string | null) => void }) {
  const [form, setForm] = useState(blank)
  const [signIn, setSignIn] = useState<SignIn>({ method: 'temporary', password: '', mustChange: true })
  const create = useMutation({
    meta: { shown: true },
    mutationFn: () => createUser(form, signIn),
    onSuccess: ({ user_id, temporary }) => {
      notify(text.users.createdNotice(user_id))
      if (temporary === null) onDone(user_id)
    }
  })
  const { errorAt, generalError } = formErrors(create.error, fields)
  const field = (name: Exclude<keyof typeof blank, 'labels'>) => ({
    value: form[name],
    onChange: (event: { readonly currentTarget: { readonly value: string } }) =>
      setForm({ ...form, [name]: event.currentTarget.value }),
    error: errorAt(name)
  })
  const { temporary, user_id = '' } = create.data ?? {}
  if (temporary != null)
    return (
      <Secret name={text.users.temporaryPassword(user_id)} value={temporary} onDone={() => onDone(user_id)} />
    )
  return (
    <Form
      submitLabel={text.users.submit}
      isBusy={create.isPending}
      error={generalError}
      onSubmit={() => create.mutate()}
    >
      <TextInput
        label={text.users.id}
        description={text.users.idHint}
        {...field('user_id')}
        autoCapitalize="none"
        spellCheck={false}
        data-autofocus
        required
      />
      <TextInput label={text.users.name} {...field('display_name')} required />
      <RoleSelect value={form.role} onChange={role => setForm({ ...form, role })} error={errorAt('role')} />
      <SignInInputs value={signIn} onChange={setSignIn} error={errorAt('initial_password')} />
      <LabelsField
        value={form.labels}
        onChange={labels => setForm({ ...form, labels })}
        error={errorAt('labels')}
      />
    </Form>
  )
}

interface SignInProps {
  readonly value: SignIn
  readonly onChange: (value: SignIn) => void
  readonly error: string | null
}

const SignInInputs = ({ value, onChange, error }: SignInProps) => (
  <>
    <NativeSelect
      label={text.users.signIn}
      data={Object.entries(text.users.signIns).map(([value, label]) => ({ value, label }))}
      value={value.method}
      onChange={event => onChange({ ...value, method: event.currentTarget.value as SignIn['method'] })}
    />
    {value.method === 'chosen' && (
      <>
        <PasswordInput
          label={text.users.password}
          description={text.users.passwordHint}
          value={value.password}
          onChange={event => onChange({ ...value, password: event.currentTarget.value })}
          error={error}
          autoComplete="new-password"
          required
        />
        <Checkbox
          label={text.users.mustChange}
          checked={value.mustChange}
          onChange={event => onChange({ ...value, mustChange: event.currentTarget.checked })}
        />
      </>
    )}
  </>
)

const fields = {
  user_id: ['invalid_user_id', 'reserved_user_id', 'user_already_exists'],
  display_name: ['invalid_display_name'],
  role: [],
  initial_password: ['password_too_short', 'password_too_long', 'initial_password_required'],
  labels: []
}

async function createUser({ role, ...form }: typeof blank, { method, password, mustChange }: SignIn) {
  const { user_id } = await call('POST /v1/users', {
    body: {
      ...form,
      role: role as 'user' | 'superadmin',
      ...(method === 'chosen' && { initial_password: password, password_change_required: mustChange })
    }
  })
  if (method !== 'temporary') return { user_id, temporary: null }
  return { user_id, temporary: await createTemporaryPassword(user_id) }
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
