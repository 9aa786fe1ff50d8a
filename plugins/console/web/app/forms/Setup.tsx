import { Button, PasswordInput, TextInput } from '@mantine/core'
import { call } from '../../api/call.ts'
import { queryClient } from '../../api/query-client.ts'
import { FormError } from '../../parts/form/FormError.tsx'
import { useForm } from '../../parts/form/use-form.ts'
import { text } from '../../text/text.ts'
import { forgetSetupLink } from '../setup-link.ts'
import { FormCard } from './FormCard.tsx'
import { newPasswordField, repeatedPasswordField } from './password-fields.ts'

const initial = {
  user_id: 'admin',
  display_name: 'Administrator',
  password: '',
  password_confirm: '',
  setup_token: ''
}

const fields = {
  user_id: {
    label: text.setup.user,
    description: text.setup.userHint,
    codes: ['invalid_user_id', 'reserved_user_id'],
    check: (id: string) =>
      /^[a-z][a-z0-9_-]{0,31}$/.test(id) ? null : (text.errors['invalid_user_id'] ?? '')
  },
  display_name: { label: text.setup.name, codes: ['invalid_display_name'] },
  password: newPasswordField(text.setup.password, text.setup.passwordHint),
  password_confirm: repeatedPasswordField(text.setup.again, 'password'),
  setup_token: {
    label: text.setup.token,
    description: text.setup.tokenHint,
    codes: ['setup_token_invalid', 'setup_token_required']
  }
}

/** Creates the first administrator and signs in. */
export default function Setup({ token }: { readonly token: string }) {
  const { input, form } = useSetup(token)
  return (
    <FormCard title={text.setup.title} lead={text.setup.lead} form={form}>
      <TextInput {...input('user_id')} autoComplete="username" autoCapitalize="none" required />
      <TextInput {...input('display_name')} autoComplete="name" required />
      <PasswordInput {...input('password')} autoComplete="new-password" required />
      <PasswordInput {...input('password_confirm')} autoComplete="new-password" required />
      {token === '' && <TextInput {...input('setup_token')} autoComplete="off" required />}
      <FormError error={form.error} />
      <Button type="submit" loading={form.isBusy}>
        {text.setup.submit}
      </Button>
    </FormCard>
  )
}

const useSetup = (token: string) =>
  useForm({
    initial: { ...initial, setup_token: token },
    fields,
    save: async body => {
      await call('POST /v1/auth/onboarding', { body })
      await call('POST /v1/auth/login', { body: { user_id: body.user_id, password: body.password } })
    },
    onDone: () => {
      forgetSetupLink()
      return queryClient.resetQueries()
    }
  })
