import { Checkbox, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/call.ts'
import { count } from '../../format.ts'
import { Form } from '../../parts/form/Form.tsx'
import { Secret } from '../../parts/Secret.tsx'
import { text } from '../../text/text.ts'

/** Confirms, resets the password, and shows the temporary one once. */
export function ResetPassword({ id, onDone }: { readonly id: string; readonly onDone: () => void }) {
  const [keep, setKeep] = useState(false)
  const reset = useMutation({
    meta: { shown: true },
    mutationFn: () =>
      call('POST /v1/users/{user_id}/password', { path: { user_id: id }, body: { keep_api_tokens: keep } })
  })
  const { data: done } = reset
  if (done)
    return (
      <Stack>
        <Text size="sm">
          {text.users.resetDone(count(done.sessions_revoked), count(done.api_tokens_revoked))}
        </Text>
        <Secret
          name={text.users.temporaryPassword(id)}
          value={done.temporary_password ?? ''}
          onDone={onDone}
        />
      </Stack>
    )
  return (
    <Form
      submitLabel={text.users.reset}
      isBusy={reset.isPending}
      error={reset.error}
      onSubmit={() => reset.mutate()}
      onCancel={onDone}
    >
      <Text>{text.users.resetText}</Text>
      <Checkbox
        label={text.users.keepTokens}
        checked={keep}
        onChange={event => setKeep(event.currentTarget.checked)}
      />
    </Form>
  )
}
