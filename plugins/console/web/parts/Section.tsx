import { Group, Title } from '@mantine/core'
import type { ReactNode } from 'react'

interface Props {
  readonly title: string
  readonly tools?: ReactNode
  readonly children: ReactNode
}

/** A part of a page, with a heading. */
export const Section = ({ title, tools, children }: Props) => (
  <section>
    <Group justify="space-between" mt="xl" mb="sm">
      <Title order={2} size="h4">
        {title}
      </Title>
      {tools}
    </Group>
    {children}
  </section>
)
