import { Button } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { call, type Row } from '../../api/call.ts'
import { useRight } from '../../api/rights.ts'
import { count } from '../../format.ts'
import { PlainTable } from '../../parts/PlainTable.tsx'
import { Timestamp } from '../../parts/Timestamp.tsx'
import { text } from '../../text/text.ts'

type Channel = Row<'GET /v1/notifications/channels'>

const words = text.notifications

/** The channels with their last results. Superadmins can send a test to each. */
export function Channels({ channels }: { readonly channels: readonly Channel[] }) {
  const mayTest = useRight('managesUsers')
  return (
    <PlainTable
      label={words.channels}
      columns={[
        { title: words.channel },
        { title: words.type },
        { title: words.for },
        { title: words.lastSuccess },
        { title: words.lastError, wraps: true },
        { title: words.waiting, numeric: true },
        ...(mayTest ? [{ title: text.table.actions }] : [])
      ]}
      rows={channels.map(channel => ({
        key: channel.name,
        cells: [
          channel.name,
          channel.type,
          channel.user ?? words.everybody,
          channel.last_success_at ? <Timestamp key="success" at={channel.last_success_at} /> : '–',
          channel.last_error ?? '–',
          count(channel.waiting),
          ...(mayTest ? [<TestButton key="test" name={channel.name} />] : [])
        ]
      }))}
    />
  )
}

function TestButton({ name }: { readonly name: string }) {
  const client = useQueryClient()
  const { mutate, isPending, data, error } = useMutation({
    mutationFn: () => call('POST /v1/notifications/channels/{name}/test', { path: { name } }),
    onSettled: () => client.invalidateQueries({ queryKey: ['notification-channels'] })
  })
  return (
    <>
      <Button
        size="compact-xs"
        variant="default"
        loading={isPending}
        aria-label={words.testOf(name)}
        onClick={() => mutate()}
      >
        {words.test}
      </Button>
      <span role="status">
        {data && (data.delivered ? words.delivered : words.notDelivered)}
        {error && words.notDelivered}
      </span>
    </>
  )
}
