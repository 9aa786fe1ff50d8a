import { NativeSelect, TextInput } from '@mantine/core'
import { call } from '../../api/call.ts'
import { Form } from '../../parts/form/Form.tsx'
import { toOptions } from '../../parts/form/to-options.ts'
import { useForm } from '../../parts/form/use-form.ts'
import { Secret } from '../../parts/Secret.tsx'
import { text } from '../../text/text.ts'

const day = 86_400
const lifetimes = { never: null, day, month: 30 * day, quarter: 90 * day, year: 365 * day } as const
type Lifetime = keyof typeof lifetimes

const fields = {
  label: { label: text.tokens.label, description: text.tokens.labelHint },
  expires_in_secs: { label: text.tokens.validFor }
}

/** Creates a token and shows it once. */
export function IssueToken({ user, onDone }: { readonly user: string; readonly onDone: () => void }) {
  const { input, form, result } = useForm({
    initial: { label: '', expires_in_secs: 'quarter' as Lifetime },
    fields,
    save: ({ label, expires_in_secs }) => {
      const secs = lifetimes[expires_in_secs]
      return call('POST /v1/users/{user_id}/credentials', {
        path: { user_id: user },
        body: { label: label.trim(), ...(secs !== null && { expires_in_secs: secs }) }
      })
    }
  })
  if (result) return <Secret name={result.label || text.tokens.token} value={result.token} onDone={onDone} />
  return (
    <Form {...form} submitLabel={text.tokens.issue}>
      <TextInput {...input('label')} data-autofocus required />
      <NativeSelect {...input('expires_in_secs')} data={toOptions(text.tokens.lifetimes)} />
    </Form>
  )
}
