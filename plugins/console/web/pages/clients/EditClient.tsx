import { TextInput } from '@mantine/core'
import { useState } from 'react'
import { call, type Reply, type Versioned, versioned } from '../../api/call.ts'
import { notify } from '../../app/notices.ts'
import { Form } from '../../parts/form/Form.tsx'
import { FreshRecord } from '../../parts/form/FreshRecord.tsx'
import { formErrors } from '../../parts/form/form-errors.ts'
import { LabelsField } from '../../parts/form/LabelsField.tsx'
import { labelText } from '../../parts/form/labels.ts'
import { useFieldsEdit } from '../../parts/form/use-fields-edit.tsx'
import { text } from '../../text/text.ts'
import type { Client } from './queries.ts'

type ClientRecord = Reply<'GET /v1/clients/{client_id}'>

const readClient = (client_id: string) => versioned('GET /v1/clients/{client_id}', { path: { client_id } })

interface Props {
  readonly client: Client
  readonly onDone: () => void
}

export const EditClient = ({ client: { client_id }, onDone }: Props) => (
  <FreshRecord queryKey={['client', client_id]} read={() => readClient(client_id)}>
    {opened => <Fields opened={opened} onDone={onDone} />}
  </FreshRecord>
)

/** Name, address and labels. */
function Fields({
  opened,
  onDone
}: {
  readonly opened: Versioned<ClientRecord>
  readonly onDone: () => void
}) {
  const { client_id, ...before } = opened.value
  const [name, setName] = useState(before.client_name)
  const [address, setAddress] = useState(before.address ?? '')
  const [labels, setLabels] = useState(before.labels)
  const { submit, change, conflict } = useFieldsEdit(opened, {
    fieldsOf: ({ client_name, address, labels }) => ({ client_name, address, labels }),
    values: { client_name: name.trim(), address: address.trim() || null, labels },
    read: () => readClient(client_id),
    save: (body, headers) => call('PATCH /v1/clients/{client_id}', { path: { client_id }, body, headers }),
    onDone,
    onSaved: () => notify(text.clients.saved(name.trim())),
    describe: {
      client_name: [text.clients.name, value => value],
      address: [text.clients.address, value => value],
      labels: [text.labels.title, labelText]
    }
  })
  const { errorAt, generalError } = formErrors(change.error, { client_name: [], address: [], labels: [] })
  return (
    <Form
      submitLabel={text.save}
      isBusy={change.isPending}
      error={generalError}
      onSubmit={submit}
      onCancel={onDone}
    >
      <TextInput
        label={text.clients.name}
        value={name}
        onChange={event => setName(event.currentTarget.value)}
        error={errorAt('client_name')}
        data-autofocus
        required
      />
      <TextInput
        label={text.clients.address}
        description={text.clients.addressHint}
        value={address}
        onChange={event => setAddress(event.currentTarget.value)}
        error={errorAt('address')}
        autoCapitalize="none"
      />
      <LabelsField value={labels} onChange={setLabels} error={errorAt('labels')} />
      {conflict}
    </Form>
  )
}
