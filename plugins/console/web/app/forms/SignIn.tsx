import { Button, PasswordInput, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/call.ts'
import { queryClient } from '../../api/query-client.ts'
import { setMustChange } from '../../api/use-must-change.ts'
import { FormError } from '../../parts/form/FormError.tsx'
import { text } from '../../text/text.ts'
import { FormCard } from './FormCard.tsx'

export default function SignIn() {
  const [user_id, setUser] = useState('')
  const [password, setPassword] = useState('')
  const signIn = useMutation({
    meta: { shown: true },
    mutationFn: () => call('POST /v1/auth/login', { body: { user_id, password } }),
    onSuccess: ({ password_change_required }) => {
      setMustChange(password_change_required)
      return queryClient.resetQueries({ queryKey: ['me'] })
    }
  })
  return (
    <FormCard title={text.signIn.title} onSubmit={() => signIn.mutate()}>
      <TextInput
        label={text.signIn.user}
        value={user_id}
        onChange={event => setUser(event.currentTarget.value)}
        name="username"
        autoComplete="username"
        autoCapitalize="none"
        required
        data-autofocus
      />
      <PasswordInput
        label={text.signIn.password}
        value={password}
        onChange={event => setPassword(event.currentTarget.value)}
        name="password"
        autoComplete="current-password"
        required
      />
      <FormError error={signIn.error} />
      <Button type="submit" loading={signIn.isPending}>
        {text.signIn.submit}
      </Button>
      <Text c="dimmed" size="sm">
        {text.signIn.forgotten}
      </Text>
    </FormCard>
  )
}
