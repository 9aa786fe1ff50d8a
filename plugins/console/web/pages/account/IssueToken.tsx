import { NativeSelect, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/call.ts'
import { Form } from '../../parts/form/Form.tsx'
import { formErrors } from '../../parts/form/form-errors.ts'
import { Secret } from '../../parts/Secret.tsx'
import { text } from '../../text/text.ts'

const day = 86_400
const times = { never: null, day, month: 30 * day, quarter: 90 * day, year: 365 * day } as const
type Time = keyof typeof times

/** Creates a token and shows it once. */
export function IssueToken({ user, onDone }: { readonly user: string; readonly onDone: () => void }) {
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
    return <Secret name={issue.data.label || text.tokens.token} value={issue.data.token} onDone={onDone} />
  const { errorAt, generalError } = formErrors(issue.error, { label: [], expires_in_secs: [] })
  return (
    <Form
      submitLabel={text.tokens.issue}
      isBusy={issue.isPending}
      error={generalError}
      onSubmit={() => issue.mutate()}
    >
      <TextInput
        label={text.tokens.label}
        description={text.tokens.labelHint}
        value={label}
        onChange={event => setLabel(event.currentTarget.value)}
        error={errorAt('label')}
        data-autofocus
        required
      />
      <NativeSelect
        label={text.tokens.validFor}
        data={Object.entries(text.tokens.lifetimes).map(([value, label]) => ({ value, label }))}
        value={time}
        onChange={event => setTime(event.currentTarget.value as Time)}
        error={errorAt('expires_in_secs')}
      />
    </Form>
  )
}
