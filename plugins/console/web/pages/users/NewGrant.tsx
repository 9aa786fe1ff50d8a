import { Checkbox, Group, Input, NumberInput, Textarea, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/call.ts'
import { notify } from '../../app/notices.ts'
import { Form } from '../../parts/form/Form.tsx'
import { formErrors } from '../../parts/form/form-errors.ts'
import { LabelsField } from '../../parts/form/LabelsField.tsx'
import type { Labels } from '../../parts/form/labels.ts'
import { text } from '../../text/text.ts'
import { ClientSelect } from '../clients/ClientSelect.tsx'

const blank = { client_id: '*', targets: '', note: '', labels: {} as Labels }
const allProtocols = ['tcp', 'udp'] as const

type Ports = Readonly<Record<'first' | 'last', number | string>>

/** Creates a grant for one client or all clients. */
export function NewGrant({ user, onDone }: { readonly user: string; readonly onDone: () => void }) {
  const [form, setForm] = useState(blank)
  const [ports, setPorts] = useState<Ports>({ first: '', last: '' })
  const [protocols, setProtocols] = useState<readonly string[]>(['tcp'])
  const create = useMutation({
    meta: { shown: true },
    mutationFn: () => call('POST /v1/grants', { body: toBody(user, form, ports, protocols) }),
    onSuccess: () => {
      notify(text.grants.createdNotice)
      onDone()
    }
  })
  const { errorAt, generalError } = formErrors(create.error, fields)
  const set = (name: Exclude<keyof typeof blank, 'labels'>) => (value: string) =>
    setForm({ ...form, [name]: value })
  return (
    <Form
      submitLabel={text.grants.submit}
      isBusy={create.isPending}
      error={generalError}
      onSubmit={() => create.mutate()}
    >
      <ClientSelect
        label={text.grants.client}
        value={form.client_id}
        onChange={set('client_id')}
        first={{ value: '*', label: text.grants.everyClient }}
        error={errorAt('client_id')}
      />
      <PortInputs ports={ports} onChange={setPorts} errorAt={errorAt} />
      <ProtocolInputs protocols={protocols} onChange={setProtocols} error={errorAt('protocols')} />
      <Textarea
        label={text.grants.targets}
        description={text.grants.targetsHint}
        rows={3}
        value={form.targets}
        onChange={event => set('targets')(event.currentTarget.value)}
        error={errorAt('targets')}
        spellCheck={false}
      />
      <TextInput
        label={text.optional(text.grants.note)}
        value={form.note}
        onChange={event => set('note')(event.currentTarget.value)}
        error={errorAt('note')}
      />
      <LabelsField
        value={form.labels}
        onChange={labels => setForm({ ...form, labels })}
        error={errorAt('labels')}
      />
    </Form>
  )
}

interface PortProps {
  readonly ports: Ports
  readonly onChange: (ports: Ports) => void
  readonly errorAt: (field: string) => string | null
}

function PortInputs({ ports, onChange, errorAt }: PortProps) {
  const port = (name: keyof Ports, field: string) => (
    <NumberInput
      label={text.grants[name]}
      value={ports[name]}
      onChange={value => onChange({ ...ports, [name]: value })}
      error={errorAt(field)}
      min={1}
      max={65_535}
      allowDecimal={false}
      hideControls
      required={name === 'first'}
    />
  )
  return (
    <Group grow align="start">
      {port('first', 'listen_port_start')}
      {port('last', 'listen_port_end')}
    </Group>
  )
}

interface ProtocolProps {
  readonly protocols: readonly string[]
  readonly onChange: (protocols: readonly string[]) => void
  readonly error: string | null
}

const ProtocolInputs = ({ protocols, onChange, error }: ProtocolProps) => (
  <Input.Wrapper label={text.grants.protocols} error={error} role="group">
    <Group mt={4}>
      {allProtocols.map(name => (
        <Checkbox
          key={name}
          label={name}
          checked={protocols.includes(name)}
          onChange={({ currentTarget: { checked } }) =>
            onChange(allProtocols.filter(other => (other === name ? checked : protocols.includes(other))))
          }
        />
      ))}
    </Group>
  </Input.Wrapper>
)

const fields = {
  client_id: ['client_not_found'],
  listen_port_start: [],
  listen_port_end: ['invalid_port_range'],
  protocols: ['empty_protocol_set'],
  targets: [],
  note: [],
  labels: []
}

/** An empty last port means a single port. */
function toBody(
  user_id: string,
  { client_id, targets, note, labels }: typeof blank,
  { first, last }: Ports,
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
