import { Button, PasswordInput, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/call.ts'
import { queryClient } from '../../api/query-client.ts'
import { FormError } from '../../parts/form/FormError.tsx'
import { fieldError } from '../../parts/form/field-error.ts'
import { text } from '../../text/text.ts'
import { forgetSetupLink } from '../setup-link.ts'
import { FormCard } from './FormCard.tsx'

const initial = {
  user_id: 'admin',
  display_name: 'Administrator',
  password: '',
  password_confirm: ''
}
type SetupForm = typeof initial & { readonly setup_token: string }

/** Creates the first administrator and signs in. */
export default function Setup({ token }: { readonly token: string }) {
  const [form, setForm] = useState({ ...initial, setup_token: token })
  const field = (name: keyof typeof form) => ({
    name,
    value: form[name],
    onChange: (event: { readonly currentTarget: HTMLInputElement }) =>
      setForm({ ...form, [name]: event.currentTarget.value }),
    error: fieldError(setup.error, name),
    required: true
  })
  const setup = useSetup(form)
  const differ = form.password_confirm !== '' && form.password !== form.password_confirm
  return (
    <FormCard title={text.setup.title} lead={text.setup.lead} onSubmit={() => differ || setup.mutate()}>
      <TextInput
        label={text.setup.user}
        description={text.setup.userHint}
        autoComplete="username"
        autoCapitalize="none"
        {...field('user_id')}
      />
      <TextInput label={text.setup.name} autoComplete="name" {...field('display_name')} />
      <PasswordInput
        label={text.setup.password}
        description={text.setup.passwordHint}
        autoComplete="new-password"
        {...field('password')}
      />
      <PasswordInput
        label={text.setup.again}
        autoComplete="new-password"
        {...field('password_confirm')}
        error={differ && text.setup.mismatch}
      />
      {token === '' && (
        <TextInput
          label={text.setup.token}
          description={text.setup.tokenHint}
          autoComplete="off"
          {...field('setup_token')}
        />
      )}
      <FormError error={setup.error} shownFields={Object.keys(form)} />
      <Button type="submit" loading={setup.isPending}>
        {text.setup.submit}
      </Button>
    </FormCard>
  )
}

function useSetup(form: SetupForm) {
  return useMutation({
    meta: { shown: true },
    mutationFn: async () => {
      await call('POST /v1/auth/onboarding', { body: form })
      await call('POST /v1/auth/login', { body: { user_id: form.user_id, password: form.password } })
    },
    onSuccess: () => {
      forgetSetupLink()
      return queryClient.resetQueries()
    }
  })
}
