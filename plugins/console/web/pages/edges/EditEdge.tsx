import { Button, Stack, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { notify } from '../../app/notices.ts'
import { fieldError } from '../../parts/field-error.ts'
import { Refusal } from '../../parts/Refusal.tsx'
import { LabelsInput } from '../../parts/schema-form/LabelsInput.tsx'
import { patchOf, type Values } from '../../parts/schema-form/values.ts'
import { text } from '../../text/text.ts'
import type { Edge } from './queries.ts'

/** Name, address and labels; only what was changed is sent. */
export function EditEdge({ edge, onDone }: { readonly edge: Edge; readonly onDone: () => void }) {
  const [opened] = useState(edge)
  const [name, setName] = useState(opened.client_name)
  const [address, setAddress] = useState(opened.address ?? '')
  const [labels, setLabels] = useState<Values>(opened.labels)
  const save = useMutation({
    meta: { shown: true },
    mutationFn: () =>
      call('PATCH /v1/clients/{client_id}', {
        path: { client_id: edge.client_id },
        body: patchOf(
          { client_name: opened.client_name, address: opened.address, labels: opened.labels },
          { client_name: name.trim(), address: address.trim() || null, labels }
        )
      }),
    onSuccess: ({ client_name }) => {
      notify(text.edges.saved(client_name))
      onDone()
    }
  })
  return (
    <form
      onSubmit={event => {
        event.preventDefault()
        save.mutate()
      }}
    >
      <Stack>
        <TextInput
          label={text.edges.name}
          value={name}
          onChange={event => setName(event.currentTarget.value)}
          error={fieldError(save.error, 'client_name')}
          data-autofocus
          required
        />
        <TextInput
          label={text.edges.address}
          description={text.edges.addressHint}
          value={address}
          onChange={event => setAddress(event.currentTarget.value)}
          error={fieldError(save.error, 'address')}
          autoCapitalize="none"
        />
        <LabelsInput
          label={text.fields['labels'] ?? ''}
          name="labels"
          error={fieldError(save.error, 'labels', 'parts')}
          value={labels}
          onChange={next => setLabels(next ?? {})}
        />
        <Refusal error={save.error} fields={['client_name', 'address']} />
        <Button type="submit" loading={save.isPending} style={{ alignSelf: 'start' }}>
          {text.ruleForm.save}
        </Button>
      </Stack>
    </form>
  )
}
