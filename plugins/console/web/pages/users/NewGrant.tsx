import { Checkbox, Group, Input, Textarea, TextInput } from '@mantine/core'
import { call } from '../../api/call.ts'
import { Form } from '../../parts/form/Form.tsx'
import type { ControlProps } from '../../parts/form/fields.ts'
import { LabelsField, labelsField } from '../../parts/form/LabelsField.tsx'
import type { Labels } from '../../parts/form/labels.ts'
import { NumberField } from '../../parts/form/NumberField.tsx'
import { useForm } from '../../parts/form/use-form.ts'
import { text } from '../../text/text.ts'
import { ClientSelect } from '../clients/ClientSelect.tsx'

const allProtocols = ['tcp', 'udp'] as const
type Protocols = readonly (typeof allProtocols)[number][]

const initial = {
  client_id: '*',
  listen_port_start: '' as number | string,
  listen_port_end: '' as number | string,
  protocols: ['tcp'] as Protocols,
  targets: '',
  note: '',
  labels: {} as Labels
}

const fields = {
  client_id: { label: text.grants.client, codes: ['client_not_found'] },
  listen_port_start: { label: text.grants.first },
  listen_port_end: { label: text.grants.last, codes: ['invalid_port_range'] },
  protocols: { label: text.grants.protocols, codes: ['empty_protocol_set'] },
  targets: { label: text.grants.targets, description: text.grants.targetsHint },
  note: { label: text.optional(text.grants.note) },
  labels: labelsField
}

/** Creates a grant for one client or all clients. */
export function NewGrant({ user, onDone }: { readonly user: string; readonly onDone: () => void }) {
  const { field, input, form } = useForm({
    initial,
    fields,
    save: values => call('POST /v1/grants', { body: { user_id: user, ...toBody(values) } }),
    notice: () => text.grants.createdNotice,
    onDone
  })
  return (
    <Form {...form} submitLabel={text.grants.submit}>
      <ClientSelect {...field('client_id')} first={{ value: '*', label: text.grants.everyClient }} />
      <Group grow align="start">
        <NumberField {...field('listen_port_start')} required />
        <NumberField {...field('listen_port_end')} />
      </Group>
      <ProtocolInputs {...field('protocols')} />
      <Textarea {...input('targets')} rows={3} spellCheck={false} />
      <TextInput {...input('note')} />
      <LabelsField {...field('labels')} />
    </Form>
  )
}

const ProtocolInputs = ({ label, value, onChange, error }: ControlProps<Protocols>) => (
  <Input.Wrapper label={label} error={error} role="group">
    <Group mt={4}>
      {allProtocols.map(name => (
        <Checkbox
          key={name}
          label={name}
          checked={value.includes(name)}
          onChange={({ currentTarget: { checked } }) =>
            onChange(allProtocols.filter(other => (other === name ? checked : value.includes(other))))
          }
        />
      ))}
    </Group>
  </Input.Wrapper>
)

/** An empty last port means a single port. */
function toBody({ listen_port_start: first, listen_port_end: last, ...values }: typeof initial) {
  const lines = values.targets
    .split(/[\n,]/)
    .map(line => line.trim())
    .filter(Boolean)
  return {
    client_id: values.client_id,
    listen_port_start: Number(first),
    listen_port_end: Number(last === '' ? first : last),
    protocols: [...values.protocols],
    targets: lines.length === 0 ? null : lines,
    note: values.note.trim() || null,
    labels: values.labels
  }
}
