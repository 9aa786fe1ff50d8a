import { Textarea } from '@mantine/core'
import { call, type Reply, type Versioned } from '../../api/call.ts'
import { Form } from '../../parts/form/Form.tsx'
import { FreshRecord } from '../../parts/form/FreshRecord.tsx'
import { NumberField } from '../../parts/form/NumberField.tsx'
import { parseLines } from '../../parts/form/parse-lines.ts'
import { useEditForm } from '../../parts/form/use-edit-form.tsx'
import { text } from '../../text/text.ts'
import { type Client, readClient } from './queries.ts'

type ClientRecord = Reply<'GET /v1/clients/{client_id}'>

interface Props {
  readonly client: Client
  readonly onDone: () => void
}

export const EditEndpoint = ({ client: { client_id }, onDone }: Props) => (
  <FreshRecord queryKey={['client', client_id]} read={() => readClient(client_id)}>
    {opened => <EndpointForm opened={opened} onDone={onDone} />}
  </FreshRecord>
)

const fields = {
  'link.port': { label: text.links.port, description: text.links.portHint, codes: ['port_in_use'] },
  'link.hosts': { label: text.optional(text.links.hosts), description: text.links.ownHostsHint }
}

const defaultPort = 7444

interface FormProps {
  readonly opened: Versioned<ClientRecord>
  readonly onDone: () => void
}

function EndpointForm({ opened, onDone }: FormProps) {
  const { client_id } = opened.value
  const { field, input, form, conflict } = useEditForm(opened, {
    fields,
    toValues: ({ link }) => ({
      'link.port': (link?.port ?? defaultPort) as number | string,
      'link.hosts': link?.hosts?.join('\n') ?? ''
    }),
    toBody: ({ 'link.port': port, 'link.hosts': hosts }) => ({
      link: { port: Number(port), hosts: parseLines(hosts) }
    }),
    read: () => readClient(client_id),
    save: (body, headers) => call('PATCH /v1/clients/{client_id}', { path: { client_id }, body, headers }),
    sends: 'all',
    notice: () => text.links.endpointSaved,
    onDone
  })
  return (
    <Form {...form} submitLabel={text.save} onCancel={onDone}>
      <NumberField {...field('link.port')} data-autofocus required />
      <Textarea {...input('link.hosts')} rows={3} spellCheck={false} autoCapitalize="none" />
      {conflict}
    </Form>
  )
}
