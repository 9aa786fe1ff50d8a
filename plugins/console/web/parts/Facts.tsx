import { Paper, SimpleGrid, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { PageLink } from './page/PageLink.tsx'

interface Fact {
  readonly name: string
  readonly value: ReactNode // null: none
  readonly to?: string // the value links to this page
}

/** A grid of names and values. Omits entries that are `false`. */
export const Facts = ({ facts }: { readonly facts: readonly (Fact | false)[] }) => (
  <Paper withBorder p="md">
    <SimpleGrid cols={{ base: 2, sm: 3, lg: 5 }} component="dl" m={0} verticalSpacing="md">
      {facts
        .filter(fact => fact !== false)
        .map(({ name, value, to }) => (
          <div key={name}>
            <Text component="dt" size="sm" c="dimmed">
              {name}
            </Text>
            <Text component="dd" m={0} style={{ overflowWrap: 'anywhere' }}>
              {to === undefined ? (value ?? '–') : <PageLink to={to}>{value}</PageLink>}
            </Text>
          </div>
        ))}
    </SimpleGrid>
  </Paper>
)
