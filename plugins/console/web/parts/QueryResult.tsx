import { Skeleton, Stack, Text } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useLostAt } from '../api/reachability.ts'
import { duration } from '../format.ts'
import { text } from '../text/text.ts'
import { LoadError } from './LoadError.tsx'
import { useNow } from './use-now.ts'

interface Props<T> {
  readonly query: UseQueryResult<T>
  readonly children: (data: T) => ReactNode
}

/** Shows the data of a query, its error, or a skeleton. If a later read fails, the old data stays, greyed out with its age. */
export function QueryResult<T>({ query, children }: Props<T>) {
  const isLost = useLostAt() !== null // the shell already says so
  if (query.data === undefined && query.isError)
    return <LoadError error={query.error} retry={query.refetch} />
  if (query.data === undefined) return <Loading />
  return (
    <div className="read" data-stale={query.isRefetchError || undefined}>
      {query.isRefetchError && !isLost && <Age since={query.dataUpdatedAt} />}
      {children(query.data)}
    </div>
  )
}

/** Takes the place of what is being read. */
export const Loading = () => (
  <Stack gap="xs" aria-busy aria-label={text.loading} role="status">
    {[92, 78, 85, 64].map(width => (
      <Skeleton key={width} height={28} width={`${width}%`} />
    ))}
  </Stack>
)

function Age({ since }: { readonly since: number }) {
  const now = useNow(1000)
  return (
    <Text size="sm" c="dimmed" role="status">
      {text.age(duration(Math.max(0, now - since)))}
    </Text>
  )
}
