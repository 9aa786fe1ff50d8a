import { Button, Stack, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/call.ts'
import { Refusal } from '../../parts/FormError.tsx'
import { fieldError } from '../../parts/field-error.ts'
import { LabelsField } from '../../parts/LabelsField.tsx'
import type { Labels } from '../../parts/labels.ts'
import { text } from '../../text/text.ts'
import { Invited } from './EnrollmentCommand.tsx'

/** Asks for a name, then shows the one command to run on the host, until the host is there. */
export function AddEdge() {
  const [name, setName] = useState('')
  const [address, setAddress] = useState('')
  const [labels, setLabels] = useState<Labels>({})
  const invite = useMutation({
    meta: { shown: true },
    mutationFn: async () => ({
      ...(await call('POST /v1/client-enrollments', {
        body: {
          name: name.trim(),
          ...(address.trim() !== '' && { address: address.trim() }),
          ...(Object.keys(labels).length > 0 && { labels })
        }
      })),
      askedAt: Date.now()
    })
  })
  if (invite.data) return <Invited invitation={invite.data} onAgain={invite.reset} />
  return (
    <form
      onSubmit={event => {
        event.preventDefault()
        invite.mutate()
      }}
    >
      <Stack>
        <TextInput
          label={text.edges.name}
          description={text.edges.nameHint}
          value={name}
          onChange={event => setName(event.currentTarget.value)}
          error={fieldError(invite.error, 'name')}
          data-autofocus
          required
        />
        <More {...{ address, setAddress, labels, setLabels }} error={invite.error} />
        <Refusal error={invite.error} fields={['name', 'address']} />
        <Button type="submit" loading={invite.isPending} style={{ alignSelf: 'start' }}>
          {text.edges.submit}
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
    <summary>{text.edges.more}</summary>
    <Stack mt="sm">
      <TextInput
        label={text.edges.address}
        description={text.edges.addressHint}
        value={address}
        onChange={event => setAddress(event.currentTarget.value)}
        error={fieldError(error, 'address')}
        autoCapitalize="none"
      />
      <LabelsField value={labels} onChange={setLabels} error={fieldError(error, 'labels', 'parts')} />
    </Stack>
  </details>
)
