import { Group, Text, Title } from '@mantine/core'
import { type ReactNode, useId } from 'react'

interface Props {
  readonly title: string
  readonly note?: string
  readonly actions?: ReactNode
  readonly children: ReactNode
}

/** A titled section of a page. */
export function Section({ title, note, actions, children }: Props) {
  const id = useId()
  return (
    <section aria-labelledby={id} className="section">
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h4" id={id}>
          {title}
        </Title>
        <Group gap="sm">{actions}</Group>
      </Group>
      {note !== undefined && (
        <Text size="sm" c="dimmed" mb="sm">
          {note}
        </Text>
      )}
      {children}
    </section>
  )
}
