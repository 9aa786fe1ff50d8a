import { Skeleton, Stack } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { text } from '../text/text.ts'
import { Failed } from './Failed.tsx'

interface Props<T> {
  readonly query: UseQueryResult<T>
  readonly children: (data: T) => ReactNode
}

/** What is read: its skeleton, its error, or its content. Content stays while a later read fails; the shell tells its age. */
export function Loaded<T>({ query, children }: Props<T>) {
  if (query.data !== undefined) return children(query.data)
  if (query.isError) return <Failed error={query.error} retry={query.refetch} />
  return (
    <Stack gap="xs" aria-busy aria-label={text.loading} role="status">
      {[92, 78, 85, 64].map(width => (
        <Skeleton key={width} height={28} width={`${width}%`} />
      ))}
    </Stack>
  )
}
