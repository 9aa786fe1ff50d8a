import { Anchor, Paper, Text } from '@mantine/core'
import { Link } from 'wouter'
import { text } from '../../text/text.ts'
import { useAttention } from './use-attention.ts'

/** Problems of the system. Each line links to the list that it counts. */
export function Attention() {
  const { lines, isKnown } = useAttention()
  return (
    <Paper withBorder p="md" mb="lg" component="section" aria-label={text.attention.title}>
      {lines.length === 0 ? (
        <Text {...(!isKnown && { c: 'dimmed' })} role="status">
          <span className="dot" data-tone={isKnown ? 'good' : undefined} aria-hidden="true" />
          {isKnown ? text.attention.none : text.loading}
        </Text>
      ) : (
        <ul className="attention">
          {lines.map(({ key, tone, label, to }) => (
            <li key={key}>
              <span className="dot" data-tone={tone} aria-hidden="true" />
              <Anchor component={Link} href={to}>
                {label}
              </Anchor>
            </li>
          ))}
        </ul>
      )}
    </Paper>
  )
}
