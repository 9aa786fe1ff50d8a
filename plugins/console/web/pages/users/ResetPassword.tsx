import { Checkbox, Stack, Text } from '@mantine/core'
import { call } from '../../api/call.ts'
import { count } from '../../format.ts'
import { Form } from '../../parts/form/Form.tsx'
import { useForm } from '../../parts/form/use-form.ts'
import { Secret } from '../../parts/Secret.tsx'
import { text } from '../../text/text.ts'

const fields = { keep_api_tokens: { label: text.users.keepTokens } }

/** Confirms, resets the password, and shows the temporary one once. */
export function ResetPassword({ id, onDone }: { readonly id: string; readonly onDone: () => void }) {
  const { checkbox, form, result } = useForm({
    initial: { keep_api_tokens: false },
    fields,
    save: body => call('POST /v1/users/{user_id}/password', { path: { user_id: id }, body })
  })
  if (result)
    return (
      <Stack>
        <Text size="sm">
          {text.users.resetDone(count(result.sessions_revoked), count(result.api_tokens_revoked))}
        </Text>
        <Secret
          name={text.users.temporaryPassword(id)}
          value={result.temporary_password ?? ''}
          onDone={onDone}
        />
      </Stack>
    )
  return (
    <Form {...form} submitLabel={text.users.reset} onCancel={onDone}>
      <Text>{text.users.resetText}</Text>
      <Checkbox {...checkbox('keep_api_tokens')} />
    </Form>
  )
}
