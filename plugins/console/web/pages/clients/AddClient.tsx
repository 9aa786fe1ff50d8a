import { Button, Stack, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/call.ts'
import { FormError } from '../../parts/form/FormError.tsx'
import { fieldError } from '../../parts/form/field-error.ts'
import { LabelsField } from '../../parts/form/LabelsField.tsx'
import type { Labels } from '../../parts/form/labels.ts'
import { text } from '../../text/text.ts'
import { EnrollmentCommand } from './EnrollmentCommand.tsx'

/** Asks for a name, then shows the enrollment command until the client connects. */
export function AddClient() {
  const [name, setName] = useState('')
  const [address, setAddress] = useState('')
  const [labels, setLabels] = useState<Labels>({})
  const enroll = useMutation({
    meta: { shown: true },
    mutationFn: async () => ({
      ...(await call('POST /v1/client-enrollments', {
        body: {
          name: name.trim(),
          ...(address.trim() !== '' && { address: address.trim() }),
          ...(Object.keys(labels).length > 0 && { labels })
        }
      })),
      createdAt: Date.now()
    })
  })
  if (enroll.data) return <EnrollmentCommand enrollment={enroll.data} onRetry={enroll.reset} />
  return (
    <form
      onSubmit={event => {
        event.preventDefault()
        enroll.mutate()
      }}
    >
      <Stack>
        <TextInput
          label={text.clients.name}
          description={text.clients.nameHint}
          value={name}
          onChange={event => setName(event.currentTarget.value)}
          error={fieldError(enroll.error, 'name')}
          data-autofocus
          required
        />
        <More
          address={address}
          setAddress={setAddress}
          labels={labels}
          setLabels={setLabels}
          error={enroll.error}
        />
        <FormError error={enroll.error} shownFields={['name', 'address']} />
        <Button type="submit" loading={enroll.isPending} style={{ alignSelf: 'start' }}>
          {text.clients.submit}
        </Button>
      </Stack>
    </form>
  )
}

interface MoreProps {
  readonly address: string
  readonly setAddress: (address: string) => void
  readonly labels: Labels
  readonly setLabels: (labels: Labels) => void
  readonly error: Error | null
}

const More = ({ address, setAddress, labels, setLabels, error }: MoreProps) => (
  <details>
    <summary>{text.clients.more}</summary>
    <Stack mt="sm">
      <TextInput
        label={text.clients.address}
        description={text.clients.addressHint}
        value={address}
        onChange={event => setAddress(event.currentTarget.value)}
        error={fieldError(error, 'address')}
        autoCapitalize="none"
      />
      <LabelsField value={labels} onChange={setLabels} error={fieldError(error, 'labels', 'parts')} />
    </Stack>
  </details>
)
