import { Checkbox, Group, Input, NumberInput, Textarea, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/call.ts'
import { notify } from '../../app/notices.ts'
import { Form } from '../../parts/Form.tsx'
import { formErrors } from '../../parts/form-errors.ts'
import { LabelsField } from '../../parts/LabelsField.tsx'
import type { Labels } from '../../parts/labels.ts'
import { text } from '../../text/text.ts'
import { EdgeSelect } from '../clients/ClientSelect.tsx'

const blank = { client_id: '*', targets: '', note: '', labels: {} as Labels }
const protocols = ['tcp', 'udp'] as const

/** What a user may do, on one edge or on all. */
export function NewGrant({ user, onDone }: { readonly user: string; readonly onDone: () => void }) {
  const [form, setForm] = useState(blank)
  const [ports, setPorts] = useState<Readonly<Record<'first' | 'last', number | string>>>({
    first: '',
    last: ''
  })
  const [chosen, setChosen] = useState<readonly string[]>(['tcp'])
  const create = useMutation({
    meta: { shown: true },
    mutationFn: () => call('POST /v1/grants', { body: bodyOf(user, form, ports, chosen) }),
    onSuccess: () => {
      notify(text.grants.made)
      onDone()
    }
  })
  const { at, rest } = formErrors(create.error, fields)
  const set = (name: Exclude<keyof typeof blank, 'labels'>) => (value: string) =>
    setForm({ ...form, [name]: value })
  const port = (name: 'first' | 'last', field: string) => (
    <NumberInput
      label={text.grants[name]}
      value={ports[name]}
      onChange={value => setPorts({ ...ports, [name]: value })}
      error={at(field)}
      min={1}
      max={65_535}
      allowDecimal={false}
      hideControls
      required={name === 'first'}
    />
  )
  return (
    <Form does={text.grants.submit} isBusy={create.isPending} error={rest} onSubmit={() => create.mutate()}>
      <EdgeSelect
        label={text.grants.edge}
        value={form.client_id}
        onChange={set('client_id')}
        first={{ value: '*', label: text.grants.every }}
        error={at('client_id')}
      />
      <Group grow align="start">
        {port('first', 'listen_port_start')}
        {port('last', 'listen_port_end')}
      </Group>
      <Input.Wrapper label={text.grants.protocols} error={at('protocols')} role="group">
        <Group mt={4}>
          {protocols.map(name => (
            <Checkbox
              key={name}
              label={name}
              checked={chosen.includes(name)}
              onChange={event =>
                setChosen(
                  protocols.filter(p => (p === name ? event.currentTarget.checked : chosen.includes(p)))
                )
              }
            />
          ))}
        </Group>
      </Input.Wrapper>
      <Textarea
        label={text.grants.targets}
        description={text.grants.targetsHint}
        rows={3}
        value={form.targets}
        onChange={event => set('targets')(event.currentTarget.value)}
        error={at('targets')}
        spellCheck={false}
      />
      <TextInput
        label={`${text.grants.note} (${text.grants.optional})`}
        value={form.note}
        onChange={event => set('note')(event.currentTarget.value)}
        error={at('note')}
      />
      <LabelsField
        value={form.labels}
        onChange={labels => setForm({ ...form, labels })}
        error={at('labels')}
      />
    </Form>
  )
}

const fields = {
  client_id: ['client_not_found'],
  listen_port_start: [],
  listen_port_end: ['invalid_port_range'],
  protocols: ['empty_protocol_set'],
  targets: [],
  note: [],
  labels: []
}

/** A grant for one port needs no last port. */
function bodyOf(
  user_id: string,
  { client_id, targets, note, labels }: typeof blank,
  { first, last }: Readonly<Record<'first' | 'last', number | string>>,
  protocols: readonly string[]
) {
  const lines = targets
    .split(/[\n,]/)
    .map(line => line.trim())
    .filter(Boolean)
  return {
    user_id,
    client_id,
    listen_port_start: Number(first),
    listen_port_end: Number(last === '' ? first : last),
    protocols: [...protocols],
    targets: lines.length === 0 ? null : lines,
    note: note.trim() === '' ? null : note.trim(),
    labels
  }
}
