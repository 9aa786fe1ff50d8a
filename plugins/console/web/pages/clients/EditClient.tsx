import { TextInput } from '@mantine/core'
import { call, type Reply, type Versioned } from '../../api/call.ts'
import { Form } from '../../parts/form/Form.tsx'
import { FreshRecord } from '../../parts/form/FreshRecord.tsx'
import { LabelsField, labelsField } from '../../parts/form/LabelsField.tsx'
import { useEditForm } from '../../parts/form/use-edit-form.tsx'
import { text } from '../../text/text.ts'
import { type Client, readClient } from './queries.ts'

type ClientRecord = Reply<'GET /v1/clients/{client_id}'>

interface Props {
  readonly client: Client
  readonly onDone: () => void
}

export const EditClient = ({ client: { client_id }, onDone }: Props) => (
  <FreshRecord queryKey={['client', client_id]} read={() => readClient(client_id)}>
    {opened => <ClientForm opened={opened} onDone={onDone} />}
  </FreshRecord>
)

const fields = {
  client_name: { label: text.clients.name },
  address: { label: text.clients.address, description: text.clients.addressHint },
  labels: labelsField
}

interface FormProps {
  readonly opened: Versioned<ClientRecord>
  readonly onDone: () => void
}

function ClientForm({ opened, onDone }: FormProps) {
  const { client_id, client_name: name } = opened.value
  const { field, input, form, conflict } = useEditForm(opened, {
    fields,
    toValues: ({ client_name, address, labels }) => ({ client_name, address: address ?? '', labels }),
    toBody: ({ client_name, address, labels }) => ({
      client_name: client_name.trim(),
      address: address.trim() || null,
      labels
    }),
    read: () => readClient(client_id),
    save: (body, headers) => call('PATCH /v1/clients/{client_id}', { path: { client_id }, body, headers }),
    sends: 'changes',
    notice: ({ client_name = name }) => text.clients.saved(client_name),
    onDone
  })
  return (
    <Form {...form} submitLabel={text.save} onCancel={onDone}>
      <TextInput {...input('client_name')} data-autofocus required />
      <TextInput {...input('address')} autoCapitalize="none" />
      <LabelsField {...field('labels')} />
      {conflict}
    </Form>
  )
}
