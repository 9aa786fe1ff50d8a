import { Paper, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'

/** Replaces an empty list, with a hint or a button for the next step. */
export const EmptyState = ({ what, children }: { readonly what: string; readonly children?: ReactNode }) => (
  <Paper withBorder p="xl" className="empty">
    <Stack align="center" gap="md">
      <Text c="dimmed" ta="center">
        {what}
      </Text>
      {children}
    </Stack>
  </Paper>
)
