import { Checkbox, Group, Input, NativeSelect, Textarea, TextInput } from '@mantine/core'
import { call } from '../../api/call.ts'
import { Form } from '../../parts/form/Form.tsx'
import type { ControlProps } from '../../parts/form/fields.ts'
import { LabelsField, labelsField } from '../../parts/form/LabelsField.tsx'
import type { Labels } from '../../parts/form/labels.ts'
import { NumberField } from '../../parts/form/NumberField.tsx'
import { parseLines } from '../../parts/form/parse-lines.ts'
import { toOptions } from '../../parts/form/to-options.ts'
import { useForm } from '../../parts/form/use-form.ts'
import { text } from '../../text/text.ts'
import { ClientSelect } from '../clients/ClientSelect.tsx'
import { useClients } from '../clients/queries.ts'
import { useOffersLinks } from '../links/queries.ts'

const allProtocols = ['tcp', 'udp'] as const
type Protocols = readonly (typeof allProtocols)[number][]

const initial = {
  use: 'listen' as 'listen' | 'exit',
  client_id: '*',
  listen_port_start: '' as number | string,
  listen_port_end: '' as number | string,
  protocols: ['tcp'] as Protocols,
  targets: '',
  entries: [] as readonly string[],
  note: '',
  labels: {} as Labels
}

const fields = {
  use: { label: text.grants.use, description: text.grants.useHint },
  client_id: { label: text.grants.client, codes: ['client_not_found'] },
  listen_port_start: { label: text.grants.first },
  listen_port_end: { label: text.grants.last, codes: ['invalid_port_range'] },
  protocols: { label: text.grants.protocols, codes: ['empty_protocol_set'] },
  targets: { label: text.grants.targets, description: text.grants.targetsHint },
  entries: { label: text.optional(text.grants.entries), description: text.grants.entriesHint },
  note: { label: text.optional(text.grants.note) },
  labels: labelsField
}

/** Creates a grant for one client or all clients. */
export function NewGrant({ user, onDone }: { readonly user: string; readonly onDone: () => void }) {
  const offersLinks = useOffersLinks()
  const { values, field, input, form } = useForm({
    initial,
    fields,
    save: values => call('POST /v1/grants', { body: { user_id: user, ...toBody(values) } }),
    notice: () => text.grants.createdNotice,
    onDone
  })
  return (
    <Form {...form} submitLabel={text.grants.submit}>
      {offersLinks && <NativeSelect {...input('use')} data={toOptions(text.grants.uses)} />}
      <ClientSelect {...field('client_id')} first={{ value: '*', label: text.grants.everyClient }} />
      {values.use === 'listen' && (
        <Group grow align="start">
          <NumberField {...field('listen_port_start')} required />
          <NumberField {...field('listen_port_end')} />
        </Group>
      )}
      <ProtocolInputs {...field('protocols')} />
      <Textarea {...input('targets')} rows={3} spellCheck={false} />
      {values.use === 'exit' && <EntriesInput {...field('entries')} />}
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

interface EntriesProps extends ControlProps<readonly string[]> {
  readonly description?: string | undefined
}

/** The clients whose rules may use the exit; none selected: any. */
function EntriesInput({ label, description, value, onChange, error }: EntriesProps) {
  const clients = useClients().data ?? []
  return (
    <Checkbox.Group
      label={label}
      description={description}
      error={error}
      value={[...value]}
      onChange={onChange}
    >
      <div className="choices">
        {clients.map(({ client_id, client_name }) => (
          <Checkbox key={client_id} value={client_id} label={client_name} />
        ))}
      </div>
    </Checkbox.Group>
  )
}

function toBody({ use, entries, ...values }: typeof initial) {
  return {
    use,
    client_id: values.client_id,
    ...(use === 'listen' ? portsIn(values) : { entries: entries.length === 0 ? null : [...entries] }),
    protocols: [...values.protocols],
    targets: parseLines(values.targets),
    note: values.note.trim() || null,
    labels: values.labels
  }
}

/** An empty last port means a single port. */
const portsIn = ({
  listen_port_start: first,
  listen_port_end: last
}: Pick<typeof initial, 'listen_port_start' | 'listen_port_end'>) => ({
  listen_port_start: Number(first),
  listen_port_end: Number(last === '' ? first : last)
})
