import { Group, Title } from '@mantine/core'
import { type ReactNode, useEffect } from 'react'
import { text } from '../../text/text.ts'

interface Props {
  readonly title: string
  readonly problems?: number // shown in the title of the tab
  readonly children?: ReactNode
}

/** Title and buttons of a page. */
export function PageHead({ title, problems = 0, children }: Props) {
  useEffect(() => {
    document.title = `${problems > 0 ? `(${problems}) ` : ''}${title} · ${text.product}`
  }, [title, problems])
  return (
    <Group justify="space-between" mb="lg" className="page-head">
      <Title order={1} size="h2">
        {title}
      </Title>
      <Group gap="sm">{children}</Group>
    </Group>
  )
}
