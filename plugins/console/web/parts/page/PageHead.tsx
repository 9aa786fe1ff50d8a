import { Group, Title } from '@mantine/core'
import { type ReactNode, useEffect } from 'react'
import { text } from '../../text/text.ts'

/** Title and buttons of a page. */
export function PageHead({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · ${text.product}`
  }, [title])
  return (
    <Group justify="space-between" mb="lg">
      <Title order={1} size="h2">
        {title}
      </Title>
      <Group gap="sm">{children}</Group>
    </Group>
  )
}
