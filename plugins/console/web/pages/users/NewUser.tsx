import { Checkbox, NativeSelect, PasswordInput, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { errorOf } from '../../api/api-error.ts'
import { call } from '../../api/call.ts'
import { notify } from '../../app/notices.ts'
import { Form } from '../../parts/Form.tsx'
import { formErrors } from '../../parts/form-errors.ts'
import { LabelsField } from '../../parts/LabelsField.tsx'
import type { Labels } from '../../parts/labels.ts'
import { Secret } from '../../parts/Secret.tsx'
import { text } from '../../text/text.ts'
import { RoleSelect } from './RoleSelect.tsx'

type SignIn = keyof typeof text.users.signIns

const blank = { user_id: '', display_name: '', role: 'user', password: '', labels: {} as Labels }

/** Makes a user. A temporary password is made by the server afterwards, and shown once. */
export function NewUser({ onDone }: { readonly onDone: (id: string | null) => void }) {
  const [form, setForm] = useState(blank)
  const [signIn, setSignIn] = useState<SignIn>('temporary')
  const [mustChange, setMustChange] = useState(true)
  const create = useMutation({
    meta: { shown: true },
    mutationFn: () => make(form, signIn, mustChange),
    onSuccess: ({ user_id, temporary }) => {
      notify(text.users.made(user_id))
      if (temporary === null) onDone(user_id)
    }
  })
  const { at, rest } = formErrors(create.error, fields)
  const field = (name: Exclude<keyof typeof blank, 'labels'>) => ({
    value: form[name],
    onChange: (event: { readonly currentTarget: { readonly value: string } }) =>
      setForm({ ...form, [name]: event.currentTarget.value }),
    error: at(name)
  })
  const { temporary, user_id = '' } = create.data ?? {}
  if (temporary != null)
    return (
      <Secret name={text.users.temporaryPassword(user_id)} value={temporary} onDone={() => onDone(user_id)} />
    )
  return (
    <Form does={text.users.submit} isBusy={create.isPending} error={rest} onSubmit={() => create.mutate()}>
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
      <RoleSelect value={form.role} onChange={role => setForm({ ...form, role })} error={at('role')} />
      <NativeSelect
        label={text.users.signIn}
        data={Object.entries(text.users.signIns).map(([value, label]) => ({ value, label }))}
        value={signIn}
        onChange={event => setSignIn(event.currentTarget.value as SignIn)}
      />
      {signIn === 'chosen' && (
        <>
          <PasswordInput
            label={text.users.password}
            description={text.users.passwordHint}
            {...field('password')}
            error={at('initial_password')}
            autoComplete="new-password"
            required
          />
          <Checkbox
            label={text.users.mustChange}
            checked={mustChange}
            onChange={event => setMustChange(event.currentTarget.checked)}
          />
        </>
      )}
      <LabelsField
        value={form.labels}
        onChange={labels => setForm({ ...form, labels })}
        error={at('labels')}
      />
    </Form>
  )
}

const fields = {
  user_id: ['invalid_user_id', 'reserved_user_id', 'user_already_exists'],
  display_name: ['invalid_display_name'],
  role: [],
  initial_password: ['password_too_short', 'password_too_long', 'initial_password_required'],
  labels: []
}

async function make({ password, labels, role, ...form }: typeof blank, signIn: SignIn, mustChange: boolean) {
  const { user_id } = await call('POST /v1/users', {
    body: {
      ...form,
      role: role as 'user' | 'superadmin',
      labels,
      ...(signIn === 'chosen' && { initial_password: password, password_change_required: mustChange })
    }
  })
  if (signIn !== 'temporary') return { user_id, temporary: null }
  return { user_id, temporary: await temporaryPassword(user_id) }
}

/** If this fails there is a user without a password, whose page can reset it. */
async function temporaryPassword(user_id: string): Promise<string | null> {
  try {
    const reset = await call('POST /v1/users/{user_id}/password', { path: { user_id }, body: {} })
    return reset.temporary_password ?? null
  } catch (thrown) {
    notify(errorOf(thrown))
    return null
  }
}
