import { NativeSelect, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/call.ts'
import { Form } from '../../parts/Form.tsx'
import { formErrors } from '../../parts/form-errors.ts'
import { Secret } from '../../parts/Secret.tsx'
import { text } from '../../text/text.ts'

const day = 86_400
const times = { never: null, day, month: 30 * day, quarter: 90 * day, year: 365 * day } as const
type Time = keyof typeof times

/** Asks where the token will be used, and shows it once. */
export function Issue({ user, onDone }: { readonly user: string; readonly onDone: () => void }) {
  const [label, setLabel] = useState('')
  const [time, setTime] = useState<Time>('quarter')
  const secs = times[time]
  const issue = useMutation({
    meta: { shown: true },
    mutationFn: () =>
      call('POST /v1/users/{user_id}/credentials', {
        path: { user_id: user },
        body: { label: label.trim(), ...(secs !== null && { expires_in_secs: secs }) }
      })
  })
  if (issue.data)
    return (
      <Secret name={issue.data.label || text.credentials.token} value={issue.data.token} onDone={onDone} />
    )
  const { at, rest } = formErrors(issue.error, { label: [], expires_in_secs: [] })
  return (
    <Form does={text.credentials.issue} isBusy={issue.isPending} error={rest} onSubmit={() => issue.mutate()}>
      <TextInput
        label={text.credentials.label}
        description={text.credentials.labelHint}
        value={label}
        onChange={event => setLabel(event.currentTarget.value)}
        error={at('label')}
        data-autofocus
        required
      />
      <NativeSelect
        label={text.credentials.ends}
        data={Object.entries(text.credentials.endsIn).map(([value, label]) => ({ value, label }))}
        value={time}
        onChange={event => setTime(event.currentTarget.value as Time)}
        error={at('expires_in_secs')}
      />
    </Form>
  )
}
