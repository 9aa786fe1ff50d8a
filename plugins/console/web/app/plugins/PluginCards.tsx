import { Paper, SimpleGrid, Title } from '@mantine/core'
import { useMemo } from 'react'
import type { Me } from '../../api/me.ts'
import { ErrorBoundary } from '../../parts/ErrorBoundary.tsx'
import { PluginElement } from './PluginElement.tsx'
import { type PluginPart, subjectAt, titleOf } from './plugin-parts.ts'

interface Props {
  readonly path: string
  readonly parts: readonly PluginPart[]
  readonly me: Me
}

/** Cards of plugins, below the page that they belong to. */
export default function PluginCards({ path, parts, me }: Props) {
  const subject = useMemo(() => subjectAt(path), [path])
  const found = parts.filter(({ on }) => on === subject?.on)
  if (subject === null || found.length === 0) return null
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} mt="xl">
      {found.map(part => (
        <Paper key={`${part.element} ${path}`} component="section" withBorder p="md">
          <Title order={2} size="h5" mb="sm">
            {titleOf(part)}
          </Title>
          <ErrorBoundary resetKey={path}>
            <PluginElement part={part} me={me} ids={subject.ids} />
          </ErrorBoundary>
        </Paper>
      ))}
    </SimpleGrid>
  )
}
