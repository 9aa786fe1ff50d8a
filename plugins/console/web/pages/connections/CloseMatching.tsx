import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { call } from '../../api/call.ts'
import { count } from '../../format.ts'
import { ConfirmButton } from '../../parts/dialog/ConfirmButton.tsx'
import { text } from '../../text/text.ts'
import type { LiveFilter } from './use-live-connections.ts'

type Query = NonNullable<NonNullable<Parameters<typeof call<'DELETE /v1/connections'>>[1]>['query']>

interface Props {
  readonly filter: LiveFilter
  readonly matched: number
}

/** Closes all connections that match the filter. Shows their number first. */
export const CloseMatching = ({ filter, matched }: Props) => (
  <ConfirmButton
    button={{ disabled: matched === 0, ml: 'auto' }}
    title={text.connections.confirmClose}
    action={text.connections.closeAll}
    run={() => call('DELETE /v1/connections', { query: filter as Query })}
    notice={({ closed }) => text.connections.closed(count(closed))}
  >
    <Matched filter={filter} />
    <Text>{text.connections.confirmText}</Text>
  </ConfirmButton>
)

function Matched({ filter }: Pick<Props, 'filter'>) {
  const counted = useQuery({
    queryKey: ['live-count', filter],
    queryFn: () => call('DELETE /v1/connections', { query: { ...(filter as Query), dry_run: true } }),
    refetchInterval: false,
    staleTime: 0
  })
  return (
    <Text fw={600} role="status">
      {counted.isError
        ? text.rules.liveUnknown
        : text.connections.counted(counted.data ? count(counted.data.matched) : '…')}
    </Text>
  )
}
