import { TextInput } from '@mantine/core'
import { useState } from 'react'
import { call, type Reply, type Versioned, versioned } from '../../api/call.ts'
import { notify } from '../../app/notices.ts'
import { Form } from '../../parts/Form.tsx'
import { Opened } from '../../parts/FreshRecord.tsx'
import { formErrors } from '../../parts/form-errors.ts'
import { LabelsField } from '../../parts/LabelsField.tsx'
import { labelText } from '../../parts/labels.ts'
import { useFieldsEdit } from '../../parts/use-fields-edit.tsx'
import { text } from '../../text/text.ts'
import type { Edge } from './queries.ts'

type Record = Reply<'GET /v1/clients/{client_id}'>

const readEdge = (client_id: string) => versioned('GET /v1/clients/{client_id}', { path: { client_id } })

interface Props {
  readonly edge: Edge
  readonly onDone: () => void
}

export const EditEdge = ({ edge: { client_id }, onDone }: Props) => (
  <Opened of={['edge', client_id]} read={() => readEdge(client_id)}>
    {opened => <Fields opened={opened} onDone={onDone} />}
  </Opened>
)

/** Name, address and labels. */
function Fields({ opened, onDone }: { readonly opened: Versioned<Record>; readonly onDone: () => void }) {
  const { client_id, ...before } = opened.value
  const [name, setName] = useState(before.client_name)
  const [address, setAddress] = useState(before.address ?? '')
  const [labels, setLabels] = useState(before.labels)
  const { submit, change, overtaken } = useFieldsEdit(opened, {
    fieldsOf: ({ client_name, address, labels }) => ({ client_name, address, labels }),
    mine: { client_name: name.trim(), address: address.trim() || null, labels },
    read: () => readEdge(client_id),
    save: (body, headers) => call('PATCH /v1/clients/{client_id}', { path: { client_id }, body, headers }),
    onDone,
    onSaved: () => notify(text.edges.saved(name.trim())),
    inWords: {
      client_name: [text.edges.name, value => value],
      address: [text.edges.address, value => value],
      labels: [text.labels.title, labelText]
    }
  })
  const { at, rest } = formErrors(change.error, { client_name: [], address: [], labels: [] })
  return (
    <Form does={text.save} isBusy={change.isPending} error={rest} onSubmit={submit} onCancel={onDone}>
      <TextInput
        label={text.edges.name}
        value={name}
        onChange={event => setName(event.currentTarget.value)}
        error={at('client_name')}
        data-autofocus
        required
      />
      <TextInput
        label={text.edges.address}
        description={text.edges.addressHint}
        value={address}
        onChange={event => setAddress(event.currentTarget.value)}
        error={at('address')}
        autoCapitalize="none"
      />
      <LabelsField value={labels} onChange={setLabels} error={at('labels')} />
      {overtaken}
    </Form>
  )
}
