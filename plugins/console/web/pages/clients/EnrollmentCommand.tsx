import { Button, Group, Stack, Text } from '@mantine/core'
import type { Reply } from '../../api/call.ts'
import { countdown } from '../../format.ts'
import { Command } from '../../parts/Command.tsx'
import { State } from '../../parts/StateLabel.tsx'
import { useNow } from '../../parts/use-now.ts'
import { text } from '../../text/text.ts'
import { type Edge, useEdges } from './queries.ts'

interface Props {
  readonly invitation: Reply<'POST /v1/client-enrollments'> & { readonly askedAt: number }
  readonly edge?: Edge // whose new code it is
  readonly onAgain: () => void
}

/** The command, and how long it is valid; it turns to "connected" by itself. */
export function Invited({ invitation, edge, onAgain }: Props) {
  const { client_name: name, command, expires_at, askedAt } = invitation
  const now = useNow(1000)
  const edges = useEdges()
  // The server's clock and the browser's may differ a little: a connection that is new since then.
  const isNew = (at: string | null): boolean => at !== null && Date.parse(at) > askedAt - 60_000
  const arrived = edges.data?.find(found =>
    edge === undefined
      ? found.client_name === name && found.connected && isNew(found.enrolled_at)
      : found.client_id === edge.client_id && found.connected && found.connected_at !== edge.connected_at
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
