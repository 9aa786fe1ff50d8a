import { Paper, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'

/** In place of a list without rows: says so, and leads on. */
export const Empty = ({ what, children }: { readonly what: string; readonly children?: ReactNode }) => (
  <Paper withBorder p="xl">
    <Stack align="center" gap="md">
      <Text c="dimmed" ta="center">
        {what}
      </Text>
      {children}
    </Stack>
  </Paper>
)
