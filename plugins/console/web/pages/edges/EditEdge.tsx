import { TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call, type Reply, type Versioned, versioned } from '../../api/client.ts'
import { useEdit } from '../../api/use-edit.ts'
import { notify } from '../../app/notices.ts'
import { Form } from '../../parts/Form.tsx'
import { formErrors } from '../../parts/form-errors.ts'
import { LabelsField } from '../../parts/LabelsField.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { labelText } from '../../parts/labels.ts'
import { Overtaken } from '../../parts/Overtaken.tsx'
import { isSame, patchOf, type Values } from '../../parts/schema-form/values.ts'
import { text } from '../../text/text.ts'
import type { Edge } from './queries.ts'

type Record = Reply<'GET /v1/clients/{client_id}'>

const fieldsOf = ({ client_name, address, labels }: Omit<Record, 'client_id'>) => ({
  client_name,
  address,
  labels
})
const readEdge = (client_id: string) => versioned('GET /v1/clients/{client_id}', { path: { client_id } })

interface Props {
  readonly edge: Edge
  readonly onDone: () => void
}

export function EditEdge({ edge: { client_id }, onDone }: Props) {
  const read = useQuery({
    queryKey: ['edge', client_id],
    queryFn: () => readEdge(client_id),
    staleTime: 0,
    gcTime: 0
  })
  return <Loaded query={read}>{opened => <Fields opened={opened} onDone={onDone} />}</Loaded>
}

/** Name, address and labels; only what was changed is sent. */
function Fields(props: { readonly opened: Versioned<Record>; readonly onDone: () => void }) {
  const [opened] = useState(props.opened) // what is read later is not what the user has before him
  const { client_id, ...before } = opened.value
  const [name, setName] = useState(before.client_name)
  const [address, setAddress] = useState(before.address ?? '')
  const [labels, setLabels] = useState(before.labels)
  const mine = {
    client_name: name.trim(),
    address: address.trim() || null,
    labels
  }
  const { change, theirs } = useEdit<Record, Values>(opened, {
    read: () => readEdge(client_id),
    save: (patch, headers) =>
      call('PATCH /v1/clients/{client_id}', {
        path: { client_id },
        body: patch,
        headers
      }),
    onSaved: () => {
      notify(text.edges.saved(mine.client_name))
      props.onDone()
    }
  })
  const patch = patchOf(fieldsOf(before), mine)
  const { at, rest } = formErrors(change.error, { client_name: [], address: [], labels: [] })
  return (
    <Form
      does={text.save}
      isBusy={change.isPending}
      error={rest}
      onSubmit={() => (isSame(patch, {}) ? props.onDone() : change.mutate(patch))}
      onCancel={props.onDone}
    >
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
      {theirs && (
        <Overtaken
          fields={[
            { key: 'client_name', name: text.edges.name, now: theirs.client_name, mine: mine.client_name },
            { key: 'address', name: text.edges.address, now: theirs.address, mine: mine.address },
            {
              key: 'labels',
              name: text.labels.title,
              now: labelText(theirs.labels),
              mine: labelText(mine.labels)
            }
          ].filter(({ key }) => key in patch)}
        />
      )}
    </Form>
  )
}
