import { TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/call.ts'
import { notify } from '../../app/notices.ts'
import { Form } from '../../parts/Form.tsx'
import { formErrors } from '../../parts/form-errors.ts'
import { text } from '../../text/text.ts'
import { EntriesField } from './EntriesField.tsx'
import { entriesIn } from './parse-entries.ts'

/** Makes a list; one that is there already is not replaced. */
export function NewList({ onDone }: { readonly onDone: (name: string) => void }) {
  const [name, setName] = useState('')
  const [lines, setLines] = useState('')
  const list_name = name.trim().replace(/^@/, '')
  const make = useMutation({
    meta: { shown: true },
    mutationFn: () =>
      call('PUT /v1/source-lists/{list_name}', {
        path: { list_name },
        body: { entries: entriesIn(lines) },
        headers: { 'if-none-match': '*' }
      }),
    onSuccess: ({ name }) => {
      notify(text.sources.made(name))
      onDone(name)
    }
  })
  const { at, rest } = formErrors(make.error, { list_name: ['resource_changed'], entries: ['limit_reached'] })
  return (
    <Form does={text.sources.submit} isBusy={make.isPending} error={rest} onSubmit={() => make.mutate()}>
      <TextInput
        label={text.sources.name}
        description={text.sources.nameHint}
        value={name}
        onChange={event => setName(event.currentTarget.value)}
        error={at('list_name') && text.sources.taken}
        autoCapitalize="none"
        data-autofocus
        required
      />
      <EntriesField value={lines} onChange={setLines} error={at('entries')} />
    </Form>
  )
}
