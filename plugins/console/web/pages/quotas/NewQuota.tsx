import { TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { toApiError } from '../../api/api-error.ts'
import { call } from '../../api/call.ts'
import { notify } from '../../app/notices.ts'
import { Form } from '../../parts/form/Form.tsx'
import { formErrors } from '../../parts/form/form-errors.ts'
import { SizeField } from '../../parts/form/SizeField.tsx'
import { fromLocalInput } from '../../parts/local-time.ts'
import { text } from '../../text/text.ts'
import { ClientSelect } from '../clients/ClientSelect.tsx'
import { useClients } from '../clients/queries.ts'
import { UserSelect } from '../users/UserSelect.tsx'

interface Props {
  readonly user: string | null // null: the form asks for it
  readonly onDone: () => void
}

export function NewQuota({ user, onDone }: Props) {
  const [selectedUser, setUser] = useState(user ?? '')
  const [selectedClient, setClient] = useState('')
  const [size, setSize] = useState<number | null>(null)
  const [anchor, setAnchor] = useState('')
  const clients = useClients()
  const client_id = selectedClient || (clients.data?.[0]?.client_id ?? '')
  const startsAt = fromLocalInput(anchor)
  const set = useMutation({
    meta: { shown: true },
    mutationFn: () =>
      call('PUT /v1/users/{user_id}/quotas/{client_id}', {
        path: { user_id: selectedUser, client_id },
        body: {
          monthly_bytes: size ?? 0,
          ...(startsAt !== null && { billing_anchor: Math.floor(Date.parse(startsAt) / 1000) })
        },
        headers: { 'if-none-match': '*' }
      }),
    onSuccess: () => {
      notify(text.quotas.set)
      onDone()
    }
  })
  const { errorAt, generalError } = formErrors(set.error, fields)
  return (
    <Form
      submitLabel={text.quotas.submit}
      isBusy={set.isPending}
      error={generalError}
      onSubmit={() => set.mutate()}
    >
      {user === null && (
        <UserSelect
          label={text.quotas.user}
          value={selectedUser}
          onChange={setUser}
          error={errorAt('user_id')}
        />
      )}
      <ClientSelect
        label={text.quotas.client}
        value={client_id}
        onChange={setClient}
        error={toApiError(set.error).status === 412 ? text.quotas.taken : errorAt('client_id')}
      />
      <SizeField value={size} onChange={setSize} error={errorAt('monthly_bytes')} />
      <TextInput
        type="datetime-local"
        label={text.optional(text.quotas.anchor)}
        description={text.quotas.anchorHint}
        value={anchor}
        onChange={event => setAnchor(event.currentTarget.value)}
        error={errorAt('billing_anchor')}
      />
    </Form>
  )
}

const fields = {
  user_id: ['user_not_found'],
  client_id: ['client_not_found', 'quota_unsupported_by_client', 'resource_changed'],
  monthly_bytes: ['invalid_quota_size'],
  billing_anchor: ['invalid_billing_anchor']
}
