import { TextInput } from '@mantine/core'
import { toApiError } from '../../api/api-error.ts'
import { call } from '../../api/call.ts'
import { Form } from '../../parts/form/Form.tsx'
import { SizeField } from '../../parts/form/SizeField.tsx'
import { useForm } from '../../parts/form/use-form.ts'
import { fromLocalInput } from '../../parts/local-time.ts'
import { text } from '../../text/text.ts'
import { ClientSelect } from '../clients/ClientSelect.tsx'
import { useClients } from '../clients/queries.ts'
import { UserSelect } from '../users/UserSelect.tsx'

const initial = { user_id: '', client_id: '', monthly_bytes: null as number | null, billing_anchor: '' }

const fields = {
  user_id: { label: text.quotas.user, codes: ['user_not_found'] },
  client_id: {
    label: text.quotas.client,
    codes: ['client_not_found', 'quota_unsupported_by_client', 'resource_changed']
  },
  monthly_bytes: { label: text.quotas.size, codes: ['invalid_quota_size'] },
  billing_anchor: {
    label: text.optional(text.quotas.anchor),
    description: text.quotas.anchorHint,
    codes: ['invalid_billing_anchor']
  }
}

interface Props {
  readonly user: string | null // null: the form asks for it
  readonly onDone: () => void
}

export function NewQuota({ user, onDone }: Props) {
  const clients = useClients()
  const clientIn = ({ client_id }: typeof initial): string =>
    client_id || (clients.data?.[0]?.client_id ?? '')
  const { values, field, input, form, error } = useForm({
    initial: { ...initial, user_id: user ?? '' },
    fields,
    save: values => createQuota({ ...values, client_id: clientIn(values) }),
    notice: () => text.quotas.set,
    onDone
  })
  const client = field('client_id')
  return (
    <Form {...form} submitLabel={text.quotas.submit}>
      {user === null && <UserSelect {...field('user_id')} />}
      <ClientSelect
        {...client}
        value={clientIn(values)}
        error={toApiError(error).status === 412 ? text.quotas.taken : client.error}
      />
      <SizeField {...field('monthly_bytes')} />
      <TextInput type="datetime-local" {...input('billing_anchor')} />
    </Form>
  )
}

function createQuota({ user_id, client_id, monthly_bytes, billing_anchor }: typeof initial) {
  const startsAt = fromLocalInput(billing_anchor)
  return call('PUT /v1/users/{user_id}/quotas/{client_id}', {
    path: { user_id, client_id },
    body: {
      monthly_bytes: monthly_bytes ?? 0,
      ...(startsAt !== null && { billing_anchor: Math.floor(Date.parse(startsAt) / 1000) })
    },
    headers: { 'if-none-match': '*' }
  })
}
