import { Paper, SimpleGrid, Text } from '@mantine/core'
import type { ReactNode } from 'react'

/** A grid of names and values. */
export const Facts = ({ children }: { readonly children: ReactNode }) => (
  <Paper withBorder p="md">
    <SimpleGrid cols={{ base: 2, sm: 3, lg: 5 }} component="dl" m={0} verticalSpacing="md">
      {children}
    </SimpleGrid>
  </Paper>
)

export const Fact = ({ name, children }: { readonly name: string; readonly children: ReactNode }) => (
  <div>
    <Text component="dt" size="sm" c="dimmed">
      {name}
    </Text>
    <Text component="dd" m={0} style={{ overflowWrap: 'anywhere' }}>
      {children ?? '–'}
    </Text>
  </div>
)
