import { NativeSelect, Textarea, TextInput } from '@mantine/core'
import { call, type Reply, type Versioned, versioned } from '../../api/call.ts'
import { Form } from '../../parts/form/Form.tsx'
import { FreshRecord } from '../../parts/form/FreshRecord.tsx'
import { LabelsField, labelsField } from '../../parts/form/LabelsField.tsx'
import { parseLines } from '../../parts/form/parse-lines.ts'
import { toOptions } from '../../parts/form/to-options.ts'
import { useEditForm } from '../../parts/form/use-edit-form.tsx'
import { text } from '../../text/text.ts'
import type { Link } from './queries.ts'

type LinkRecord = Reply<'GET /v1/links/{link_id}'>

const readLink = (link_id: string) => versioned('GET /v1/links/{link_id}', { path: { link_id } })

interface Props {
  readonly link: Link
  readonly onDone: () => void
}

export const EditLink = ({ link: { link_id }, onDone }: Props) => (
  <FreshRecord queryKey={['link', link_id]} read={() => readLink(link_id)}>
    {opened => <Settings opened={opened} onDone={onDone} />}
  </FreshRecord>
)

const fields = {
  direction: {
    label: text.links.direction,
    description: text.links.directionHint,
    format: (value: Link['direction']) => text.links.directions[value]
  },
  hosts: { label: text.optional(text.links.hosts), description: text.links.hostsHint },
  note: { label: text.optional(text.links.note) },
  labels: labelsField
}

interface SettingsProps {
  readonly opened: Versioned<LinkRecord>
  readonly onDone: () => void
}

function Settings({ opened, onDone }: SettingsProps) {
  const { link_id } = opened.value
  const { field, input, form, conflict } = useEditForm(opened, {
    fields,
    toValues: ({ direction, hosts, note, labels }) => ({
      direction,
      hosts: hosts?.join('\n') ?? '',
      note: note ?? '',
      labels
    }),
    toBody: ({ direction, hosts, note, labels }) => ({
      direction,
      hosts: parseLines(hosts),
      note: note.trim() || null,
      labels
    }),
    read: () => readLink(link_id),
    save: (body, headers) => call('PATCH /v1/links/{link_id}', { path: { link_id }, body, headers }),
    sends: 'changes',
    notice: () => text.saved,
    onDone
  })
  return (
    <Form {...form} submitLabel={text.save} onCancel={onDone}>
      <NativeSelect {...input('direction')} data={toOptions(text.links.directions)} data-autofocus />
      <Textarea {...input('hosts')} rows={2} spellCheck={false} autoCapitalize="none" />
      <TextInput {...input('note')} />
      <LabelsField {...field('labels')} />
      {conflict}
    </Form>
  )
}
