import { Button, Group, Stack, Text } from '@mantine/core'
import type { Reply } from '../../api/call.ts'
import { countdown } from '../../format.ts'
import { StateLabel } from '../../parts/StateLabel.tsx'
import { useNow } from '../../parts/use-now.ts'
import { text } from '../../text/text.ts'
import { HostCommands } from './HostCommands.tsx'
import { type Client, useClients } from './queries.ts'

interface Props {
  readonly enrollment: Reply<'POST /v1/client-enrollments'> & { readonly createdAt: number }
  readonly client?: Client // set if the command is for an existing client
  readonly onRetry: () => void
}

/** An enrollment command with its remaining time. Shows "connected" when the client connects. */
export function EnrollmentCommand({ enrollment, client, onRetry }: Props) {
  const { client_name: name, command, uri, expires_at, createdAt } = enrollment
  const now = useNow(1000)
  const clients = useClients()
  // Tolerates a small difference between the clocks of server and browser.
  const isNew = (at: string | null): boolean => at !== null && Date.parse(at) > createdAt - 60_000
  const arrived = clients.data?.find(found =>
    client === undefined
      ? found.client_name === name && found.connected && isNew(found.enrolled_at)
      : found.client_id === client.client_id && found.connected && found.connected_at !== client.connected_at
  )
  const secs = Math.max(0, (Date.parse(expires_at) - now) / 1000)
  if (arrived)
    return (
      <Group role="status">
        <StateLabel state="connected" />
        <Text fw={600}>{text.clients.connected(name)}</Text>
      </Group>
    )
  return (
    <Stack gap="sm">
      <HostCommands uri={uri} command={command} />
      <Text size="sm" c="dimmed">
        {text.clients.needs}
      </Text>
      {secs > 0 ? (
        <Text size="sm">
          <StateLabel state="pending" /> · {text.clients.remaining(countdown(secs))}
        </Text>
      ) : (
        <Group role="status">
          <Text>{text.clients.expired}</Text>
          <Button variant="default" size="xs" onClick={onRetry}>
            {text.clients.newCommand}
          </Button>
        </Group>
      )}
    </Stack>
  )
}
