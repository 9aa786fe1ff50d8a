import { Button, Checkbox, Stack, Text, TextInput } from '@mantine/core'
import { call } from '../../api/call.ts'
import { Form } from '../../parts/form/Form.tsx'
import { LabelsField, labelsField } from '../../parts/form/LabelsField.tsx'
import type { Labels } from '../../parts/form/labels.ts'
import { useForm } from '../../parts/form/use-form.ts'
import { text } from '../../text/text.ts'
import { HostCommands } from './HostCommands.tsx'

const initial = {
  label: '',
  uses: '',
  ephemeral_secs: '',
  approve: false,
  address: false,
  labels: {} as Labels
}

const fields = {
  label: { label: text.enrollmentKeys.label, description: text.enrollmentKeys.labelHint },
  uses: { label: text.enrollmentKeys.uses, description: text.enrollmentKeys.usesHint },
  ephemeral_secs: { label: text.enrollmentKeys.ephemeral, description: text.enrollmentKeys.ephemeralHint },
  approve: { label: text.enrollmentKeys.approve },
  address: { label: text.enrollmentKeys.address },
  labels: labelsField
}

/** Creates an enrollment key, and shows its command once. */
export function NewKey({ onDone }: { readonly onDone: () => void }) {
  const { field, input, checkbox, form, result } = useForm({ initial, fields, save: createKey })
  if (result)
    return (
      <Stack gap="sm" role="status">
        <HostCommands {...result} />
        <Text size="sm">{text.secret.once}</Text>
        <Button variant="default" onClick={onDone} style={{ alignSelf: 'end' }}>
          {text.secret.done}
        </Button>
      </Stack>
    )
  return (
    <Form {...form} submitLabel={text.enrollmentKeys.submit}>
      <TextInput {...input('label')} data-autofocus required />
      <TextInput {...input('uses')} inputMode="numeric" />
      <TextInput {...input('ephemeral_secs')} inputMode="numeric" />
      <Checkbox {...checkbox('approve')} />
      <Checkbox {...checkbox('address')} />
      <LabelsField {...field('labels')} />
    </Form>
  )
}

/** Sends text that is no number as it is: the server names the field. */
const numberOf = (given: string) => (given.trim() === '' ? null : Number(given))

const createKey = ({ label, uses, ephemeral_secs, approve, address, labels }: typeof initial) =>
  call('POST /v1/enrollment-keys', {
    body: {
      label,
      uses: numberOf(uses),
      ephemeral_secs: numberOf(ephemeral_secs),
      approve,
      address: address ? 'auto' : null,
      ...(Object.keys(labels).length > 0 && { labels })
    }
  })
