import { Button, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useMutation, useQuery } from '@tanstack/react-query'
import { call } from '../../api/call.ts'
import { notify } from '../../app/notices.ts'
import { count } from '../../format.ts'
import { ConfirmDialog } from '../../parts/ConfirmDialog.tsx'
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
  const closeAll = useMutation({
    mutationFn: () => call('DELETE /v1/connections', { query: query ?? {} }),
    onSuccess: ({ closed }) => {
      notify(text.connections.closed(count(closed)))
      close()
    }
  })
  return (
    <>
      <Button variant="default" c="var(--bad)" disabled={matched === 0} onClick={open} ml="auto">
        {text.connections.closeAll}
      </Button>
      <ConfirmDialog
        title={text.connections.confirmClose}
        action={text.connections.closeAll}
        isOpen={isOpen}
        isBusy={closeAll.isPending}
        onClose={close}
        onConfirm={() => closeAll.mutate()}
      >
        <Text fw={600} role="status">
          {counted.isError
            ? text.rules.liveUnknown
            : text.connections.counted(counted.data ? count(counted.data.matched) : '…')}
        </Text>
        <Text>{text.connections.confirmText}</Text>
      </ConfirmDialog>
    </>
  )
}
