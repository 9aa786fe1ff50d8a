import { Button, Stack, TextInput } from '@mantine/core'
import { call } from '../../api/call.ts'
import { FormError } from '../../parts/form/FormError.tsx'
import { fieldError } from '../../parts/form/field-error.ts'
import { LabelsField, labelsField } from '../../parts/form/LabelsField.tsx'
import type { Labels } from '../../parts/form/labels.ts'
import { useForm } from '../../parts/form/use-form.ts'
import { text } from '../../text/text.ts'
import { EnrollmentCommand } from './EnrollmentCommand.tsx'

const initial = { name: '', address: '', labels: {} as Labels }

const fields = {
  name: { label: text.clients.name, description: text.clients.nameHint },
  address: { label: text.clients.address, description: text.clients.addressHint },
  labels: labelsField
}

/** Asks for a name, then shows the enrollment command until the client connects. */
export function AddClient() {
  const { field, input, form, error, result, reset } = useForm({ initial, fields, save: enroll })
  if (result) return <EnrollmentCommand enrollment={result} onRetry={reset} />
  return (
    <form
      onSubmit={event => {
        event.preventDefault()
        form.onSubmit()
      }}
    >
      <Stack>
        <TextInput {...input('name')} data-autofocus required />
        <details>
          <summary>{text.clients.more}</summary>
          <Stack mt="sm">
            <TextInput {...input('address')} autoCapitalize="none" />
            <LabelsField {...field('labels')} error={fieldError(error, 'labels', 'parts')} />
          </Stack>
        </details>
        <FormError error={error} shownFields={['name', 'address']} />
        <Button type="submit" loading={form.isBusy} style={{ alignSelf: 'start' }}>
          {text.clients.submit}
        </Button>
      </Stack>
    </form>
  )
}

async function enroll({ name, address, labels }: typeof initial) {
  const enrollment = await call('POST /v1/client-enrollments', {
    body: {
      name: name.trim(),
      ...(address.trim() !== '' && { address: address.trim() }),
      ...(Object.keys(labels).length > 0 && { labels })
    }
  })
  return { ...enrollment, createdAt: Date.now() }
}
