import { Paper, SimpleGrid, Title } from '@mantine/core'
import { useMemo } from 'react'
import type { Me } from '../../api/me.ts'
import { Boundary } from '../../parts/ErrorBoundary.tsx'
import { Element } from './PluginElement.tsx'
import { type Part, subjectOf, titleOf } from './plugin-parts.ts'

interface Props {
  readonly path: string
  readonly parts: readonly Part[]
  readonly me: Me
}

/** The cards of plugins for what a page shows, below it. */
export default function Cards({ path, parts, me }: Props) {
  const subject = useMemo(() => subjectOf(path), [path])
  const found = parts.filter(({ on }) => on === subject?.on)
  if (subject === null || found.length === 0) return null
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} mt="xl">
      {found.map(part => (
        <Paper key={`${part.element} ${path}`} component="section" withBorder p="md">
          <Title order={2} size="h5" mb="sm">
            {titleOf(part)}
          </Title>
          <Boundary of={path}>
            <Element part={part} me={me} ids={subject.ids} />
          </Boundary>
        </Paper>
      ))}
    </SimpleGrid>
  )
}
