import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { call, type Reply } from '../../api/client.ts'
import { countdown } from '../../format.ts'
import { Command } from '../../parts/Command.tsx'
import { fieldError } from '../../parts/field-error.ts'
import { Refusal } from '../../parts/Refusal.tsx'
import { State } from '../../parts/State.tsx'
import { useNow } from '../../parts/use-now.ts'
import { text } from '../../text/text.ts'
import { useEdges } from './queries.ts'

/** Asks for a name, then shows the one command to run on the host, until the host is there. */
export function AddEdge() {
  const [name, setName] = useState('')
  const invite = useMutation({
    meta: { shown: true },
    mutationFn: async () => ({
      ...(await call('POST /v1/client-enrollments', { body: { name: name.trim() } })),
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
        <Refusal error={invite.error} fields={['name']} />
        <Button type="submit" loading={invite.isPending} style={{ alignSelf: 'start' }}>
          {text.edges.submit}
        </Button>
      </Stack>
    </form>
  )
}

type Invitation = Reply<'POST /v1/client-enrollments'> & { readonly askedAt: number }

function Invited({ invitation, onAgain }: { readonly invitation: Invitation; readonly onAgain: () => void }) {
  const { client_name: name, command, expires_at, askedAt } = invitation
  const now = useNow(1000)
  const edges = useEdges()
  // The server's clock and the browser's may differ a little: a client that is new since then.
  const arrived = edges.data?.find(
    edge => edge.client_name === name && edge.connected && Date.parse(edge.enrolled_at) > askedAt - 60_000
  )
  const secs = Math.max(0, (Date.parse(expires_at) - now) / 1000)
  if (arrived)
    return (
      <Group role="status">
        <State of="connected" />
        <Text fw={600}>{text.edges.isConnected(name)}</Text>
      </Group>
    )
  return (
    <Stack gap="sm">
      <Text>{text.edges.paste}</Text>
      <Command value={command} />
      <Text size="sm" c="dimmed">
        {text.edges.needs}
      </Text>
      {secs > 0 ? (
        <Text size="sm">
          <State of="pending" /> · {text.edges.remaining(countdown(secs))}
        </Text>
      ) : (
        <Group role="status">
          <Text>{text.edges.expired}</Text>
          <Button variant="default" size="xs" onClick={onAgain}>
            {text.edges.again}
          </Button>
        </Group>
      )}
    </Stack>
  )
}
