import { Stack, TextInput } from '@mantine/core'
import { call } from '../../api/call.ts'
import { Form } from '../../parts/form/Form.tsx'
import { LabelsField, labelsField } from '../../parts/form/LabelsField.tsx'
import type { Labels } from '../../parts/form/labels.ts'
import { useForm } from '../../parts/form/use-form.ts'
import { text } from '../../text/text.ts'
import { EnrollmentCommand } from './EnrollmentCommand.tsx'

const initial = { name: '', address: '', labels: {} as Labels }

const fields = {
  name: { label: text.clients.name, description: text.clients.nameHint, codes: ['invalid_client_name'] },
  address: {
    label: text.clients.address,
    description: text.clients.addressHint,
    codes: ['invalid_client_address']
  },
  labels: labelsField
}

/** Asks for a name, then shows the enrollment command until the client connects. */
export function AddClient() {
  const { field, input, form, result, reset } = useForm({ initial, fields, save: enroll })
  if (result) return <EnrollmentCommand enrollment={result} onRetry={reset} />
  return (
    <Form {...form} submitLabel={text.clients.submit}>
      <TextInput {...input('name')} data-autofocus required />
      <details>
        <summary>{text.clients.more}</summary>
        <Stack mt="sm">
          <TextInput {...input('address')} autoCapitalize="none" />
          <LabelsField {...field('labels')} />
        </Stack>
      </details>
    </Form>
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
