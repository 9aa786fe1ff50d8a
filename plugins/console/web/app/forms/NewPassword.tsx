import { Button, PasswordInput } from '@mantine/core'
import { call } from '../../api/call.ts'
import type { Me } from '../../api/me.ts'
import { setMustChange } from '../../api/session-limits.ts'
import { FormError } from '../../parts/form/FormError.tsx'
import { useForm } from '../../parts/form/use-form.ts'
import { text } from '../../text/text.ts'
import { useSignOut } from '../use-sign-out.ts'
import { FormCard } from './FormCard.tsx'
import { newPasswordField, repeatedPasswordField } from './password-fields.ts'

interface Props {
  readonly me: Me
  readonly isTemporary?: true
  readonly onDone?: () => void
}

const initial = { current_password: '', new_password: '', new_password_confirm: '' }
const fields = {
  current_password: { label: text.password.current, codes: ['invalid_login'] },
  new_password: newPasswordField(text.password.next),
  new_password_confirm: repeatedPasswordField(text.password.again, 'new_password')
}

export default function NewPassword({ me, isTemporary, onDone }: Props) {
  const { input, form } = useForm({
    initial,
    fields,
    save: body => call('POST /v1/users/me/password', { body }),
    notice: () => text.password.done,
    onDone: () => {
      setMustChange(false)
      onDone?.()
    }
  })
  const signOut = useSignOut()
  return (
    <FormCard {...(isTemporary && { title: text.password.title, lead: text.password.temporary })} form={form}>
      <input type="hidden" name="username" autoComplete="username" value={me.user_id} readOnly />
      <PasswordInput {...input('current_password')} autoComplete="current-password" required />
      <PasswordInput {...input('new_password')} autoComplete="new-password" required />
      <PasswordInput {...input('new_password_confirm')} autoComplete="new-password" required />
      <FormError error={form.error} />
      <Button type="submit" loading={form.isBusy}>
        {text.password.submit}
      </Button>
      {isTemporary && (
        <Button variant="subtle" onClick={() => signOut.mutate()}>
          {text.signOut}
        </Button>
      )}
    </FormCard>
  )
}
