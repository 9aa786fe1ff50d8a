import { TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/call.ts'
import { notify } from '../../app/notices.ts'
import { Form } from '../../parts/form/Form.tsx'
import { formErrors } from '../../parts/form/form-errors.ts'
import { text } from '../../text/text.ts'
import { EntriesField } from './EntriesField.tsx'
import { parseEntries } from './parse-entries.ts'

/** Creates a list. Does not replace an existing one. */
export function NewSourceList({ onDone }: { readonly onDone: (name: string) => void }) {
  const [name, setName] = useState('')
  const [lines, setLines] = useState('')
  const list_name = name.trim().replace(/^@/, '')
  const make = useMutation({
    meta: { shown: true },
    mutationFn: () =>
      call('PUT /v1/source-lists/{list_name}', {
        path: { list_name },
        body: { entries: parseEntries(lines) },
        headers: { 'if-none-match': '*' }
      }),
    onSuccess: ({ name }) => {
      notify(text.sources.saved(name))
      onDone(name)
    }
  })
  const { errorAt, generalError } = formErrors(make.error, {
    list_name: ['resource_changed'],
    entries: ['limit_reached']
  })
  return (
    <Form
      submitLabel={text.sources.submit}
      isBusy={make.isPending}
      error={generalError}
      onSubmit={() => make.mutate()}
    >
      <TextInput
        label={text.sources.name}
        description={text.sources.nameHint}
        value={name}
        onChange={event => setName(event.currentTarget.value)}
        error={errorAt('list_name') && text.sources.taken}
        autoCapitalize="none"
        data-autofocus
        required
      />
      <EntriesField value={lines} onChange={setLines} error={errorAt('entries')} />
    </Form>
  )
}
