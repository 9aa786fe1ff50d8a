import { Paper, Text } from '@mantine/core'
import { Dot } from '../../parts/Dot.tsx'
import { PageLink } from '../../parts/page/PageLink.tsx'
import { text } from '../../text/text.ts'
import type { useAttention } from './use-attention.ts'

/** Problems of the system. Each line links to the list that it counts. */
export function Attention({ lines, isKnown }: ReturnType<typeof useAttention>) {
  return (
    <Paper withBorder p="md" mb="lg" component="section" aria-label={text.attention.title}>
      {lines.length === 0 ? (
        <Text {...(!isKnown && { c: 'dimmed' })} role="status">
          <Dot tone={isKnown ? 'good' : undefined} />
          {isKnown ? text.attention.none : text.loading}
        </Text>
      ) : (
        <ul className="attention">
          {lines.map(({ key, tone, label, to }) => (
            <li key={key}>
              <Dot tone={tone} />
              <PageLink to={to} size="md">
                {label}
              </PageLink>
            </li>
          ))}
        </ul>
      )}
    </Paper>
  )
}
