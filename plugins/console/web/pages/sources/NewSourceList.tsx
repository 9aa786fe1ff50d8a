import { TextInput } from '@mantine/core'
import { call } from '../../api/call.ts'
import { Form } from '../../parts/form/Form.tsx'
import { useForm } from '../../parts/form/use-form.ts'
import { text } from '../../text/text.ts'
import { EntriesField, entriesField } from './EntriesField.tsx'
import { parseEntries } from './parse-entries.ts'

const fields = {
  list_name: { label: text.sources.name, description: text.sources.nameHint, codes: ['resource_changed'] },
  entries: entriesField
}

/** Creates a list. If the name is taken, the server answers `resource_changed`. */
export function NewSourceList({ onDone }: { readonly onDone: (name: string) => void }) {
  const { input, field, form } = useForm({
    initial: { list_name: '', entries: '' },
    fields,
    save: ({ list_name, entries }) =>
      call('PUT /v1/source-lists/{list_name}', {
        path: { list_name: list_name.trim().replace(/^@/, '') },
        body: { entries: parseEntries(entries) },
        headers: { 'if-none-match': '*' }
      }),
    notice: ({ name }) => text.sources.saved(name),
    onDone: ({ name }) => onDone(name)
  })
  const name = input('list_name')
  return (
    <Form {...form} submitLabel={text.sources.submit}>
      <TextInput
        {...name}
        error={name.error && text.sources.taken}
        autoCapitalize="none"
        data-autofocus
        required
      />
      <EntriesField {...field('entries')} />
    </Form>
  )
}
