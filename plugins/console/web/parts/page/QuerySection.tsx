import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { isMissingRoute } from '../../api/api-error.ts'
import { QueryResult } from '../QueryResult.tsx'
import { Section } from './Section.tsx'

interface Props<T> extends Omit<Parameters<typeof Section>[0], 'children'> {
  readonly query: UseQueryResult<T>
  readonly children: (data: T) => ReactNode
}

/** A section with what a query returns. Left out if the server runs no plugin that has the route. */
export const QuerySection = <T,>({ query, children, ...section }: Props<T>) =>
  isMissingRoute(query.error) ? null : (
    <Section {...section}>
      <QueryResult query={query}>{children}</QueryResult>
    </Section>
  )
