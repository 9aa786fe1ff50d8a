import { Button, PasswordInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/call.ts'
import type { Me } from '../../api/me.ts'
import { setMustChange } from '../../api/use-must-change.ts'
import { FormError } from '../../parts/form/FormError.tsx'
import { text } from '../../text/text.ts'
import { notify } from '../notices.ts'
import { useSignOut } from '../use-sign-out.ts'
import { FormCard } from './FormCard.tsx'

interface Props {
  readonly me: Me
  readonly isTemporary?: true
  readonly onDone?: () => void
}

export default function NewPassword({ me, isTemporary, onDone }: Props) {
  const [form, setForm] = useState({ current_password: '', new_password: '', new_password_confirm: '' })
  const change = useMutation({
    meta: { shown: true },
    mutationFn: () => call('POST /v1/users/me/password', { body: form }),
    onSuccess: () => {
      setMustChange(false)
      notify(text.password.done)
      onDone?.()
    }
  })
  const signOut = useSignOut()
  const input = (name: keyof typeof form, label: string, autoComplete: string) => (
    <PasswordInput
      label={label}
      name={name}
      value={form[name]}
      onChange={event => setForm({ ...form, [name]: event.currentTarget.value })}
      autoComplete={autoComplete}
      required
    />
  )
  const differ = form.new_password_confirm !== '' && form.new_password !== form.new_password_confirm
  return (
    <FormCard
      {...(isTemporary && { title: text.password.title, lead: text.password.temporary })}
      onSubmit={() => differ || change.mutate()}
    >
      <input type="hidden" name="username" autoComplete="username" value={me.user_id} readOnly />
      {input('current_password', text.password.current, 'current-password')}
      {input('new_password', text.password.next, 'new-password')}
      {input('new_password_confirm', text.password.again, 'new-password')}
      <FormError error={change.error} {...(differ && { hint: text.setup.mismatch })} />
      <Button type="submit" loading={change.isPending}>
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
