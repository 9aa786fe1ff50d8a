import { Paper, Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import { text } from '../../text/text.ts'

interface Props {
  readonly title?: string // none: the form is inside a dialog with a title
  readonly lead?: string
  readonly onSubmit: () => void
  readonly children: ReactNode
}

/** A form on a page without navigation, or in a dialog. */
export const FormCard = ({ title, lead, onSubmit, children }: Props) => (
  <Paper
    component="form"
    {...(title !== undefined && { withBorder: true, p: 'xl', maw: 420 })}
    w="100%"
    onSubmit={event => {
      event.preventDefault()
      onSubmit()
    }}
  >
    <Stack>
      {title !== undefined && (
        <>
          <Text c="dimmed" fw={600}>
            {text.product}
          </Text>
          <Title order={1} size="h2">
            {title}
          </Title>
        </>
      )}
      {lead && <Text>{lead}</Text>}
      {children}
    </Stack>
  </Paper>
)
