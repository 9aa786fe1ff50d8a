import { Button, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { call } from '../../api/call.ts'
import { count } from '../../format.ts'
import { ConfirmAction } from '../../parts/ConfirmAction.tsx'
import { text } from '../../text/text.ts'
import type { LiveFilter } from './use-live-connections.ts'

type Query = NonNullable<Parameters<typeof call<'DELETE /v1/connections'>>[1]>['query']

/** Closes all connections that match the filter. Shows their number first. */
export function CloseMatching({
  filter,
  matched
}: {
  readonly filter: LiveFilter
  readonly matched: number
}) {
  const [isOpen, { open, close }] = useDisclosure()
  const query = filter as Query
  const counted = useQuery({
    queryKey: ['live-count', filter],
    queryFn: () => call('DELETE /v1/connections', { query: { ...query, dry_run: true } }),
    enabled: isOpen,
    refetchInterval: false,
    staleTime: 0
  })
  return (
    <>
      <Button variant="default" c="var(--bad)" disabled={matched === 0} onClick={open} ml="auto">
        {text.connections.closeAll}
      </Button>
      <ConfirmAction
        title={text.connections.confirmClose}
        action={text.connections.closeAll}
        isOpen={isOpen}
        onClose={close}
        run={() => call('DELETE /v1/connections', { query: query ?? {} })}
        notice={({ closed }) => text.connections.closed(count(closed))}
      >
        <Text fw={600} role="status">
          {counted.isError
            ? text.rules.liveUnknown
            : text.connections.counted(counted.data ? count(counted.data.matched) : '…')}
        </Text>
        <Text>{text.connections.confirmText}</Text>
      </ConfirmAction>
    </>
  )
}
