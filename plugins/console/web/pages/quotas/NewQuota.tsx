import { TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { errorOf } from '../../api/api-error.ts'
import { call } from '../../api/call.ts'
import { notify } from '../../app/notices.ts'
import { Form } from '../../parts/Form.tsx'
import { formErrors } from '../../parts/form-errors.ts'
import { rfcOf } from '../../parts/local-time.ts'
import { SizeField } from '../../parts/SizeField.tsx'
import { text } from '../../text/text.ts'
import { EdgeSelect } from '../clients/ClientSelect.tsx'
import { useEdges } from '../clients/queries.ts'
import { UserSelect } from '../users/UserSelect.tsx'

interface Props {
  readonly user: string | null // null: to be chosen
  readonly onDone: () => void
}

export function NewQuota({ user, onDone }: Props) {
  const [chosenUser, setUser] = useState(user ?? '')
  const [chosenEdge, setEdge] = useState('')
  const [size, setSize] = useState<number | null>(null)
  const [anchor, setAnchor] = useState('')
  const edges = useEdges()
  const client_id = chosenEdge || (edges.data?.[0]?.client_id ?? '')
  const begins = rfcOf(anchor)
  const set = useMutation({
    meta: { shown: true },
    mutationFn: () =>
      call('PUT /v1/users/{user_id}/quotas/{client_id}', {
        path: { user_id: chosenUser, client_id },
        body: {
          monthly_bytes: size ?? 0,
          ...(begins !== null && { billing_anchor: Math.floor(Date.parse(begins) / 1000) })
        },
        headers: { 'if-none-match': '*' }
      }),
    onSuccess: () => {
      notify(text.quotas.set)
      onDone()
    }
  })
  const { at, rest } = formErrors(set.error, {
    user_id: ['user_not_found'],
    client_id: ['client_not_found', 'quota_unsupported_by_client', 'resource_changed'],
    monthly_bytes: ['invalid_quota_size'],
    billing_anchor: ['invalid_billing_anchor']
  })
  return (
    <Form does={text.quotas.submit} isBusy={set.isPending} error={rest} onSubmit={() => set.mutate()}>
      {user === null && (
        <UserSelect label={text.quotas.user} value={chosenUser} onChange={setUser} error={at('user_id')} />
      )}
      <EdgeSelect
        label={text.quotas.edge}
        value={client_id}
        onChange={setEdge}
        error={errorOf(set.error).status === 412 ? text.quotas.taken : at('client_id')}
      />
      <SizeField value={size} onChange={setSize} error={at('monthly_bytes')} />
      <TextInput
        type="datetime-local"
        label={`${text.quotas.anchor} (${text.grants.optional})`}
        description={text.quotas.anchorHint}
        value={anchor}
        onChange={event => setAnchor(event.currentTarget.value)}
        error={at('billing_anchor')}
      />
    </Form>
  )
}
