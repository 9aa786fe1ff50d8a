import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { call } from '../../api/call.ts'
import { PageLink } from '../../parts/page/PageLink.tsx'
import { Section } from '../../parts/page/Section.tsx'
import { QueryResult } from '../../parts/QueryResult.tsx'
import { Timestamp } from '../../parts/Timestamp.tsx'
import { text } from '../../text/text.ts'
import { Actor, Subject } from '../audit/audit-columns.tsx'
import type { Entry } from '../audit/use-entries.ts'

const maxRead = 50
const maxShown = 6

/** The last changes that were made, newest first. */
export function RecentChanges() {
  const entries = useQuery({
    queryKey: ['audit', 'changes'],
    refetchInterval: 30_000,
    queryFn: async (): Promise<readonly Entry[]> => {
      const found = await call('GET /v1/audit', { query: { outcome: 'allow', limit: maxRead } })
      return (Array.isArray(found) ? found : found.entries).filter(isChange).slice(0, maxShown)
    }
  })
  return (
    <Section
      title={text.overview.changes}
      actions={<PageLink to="/audit?outcome=allow">{text.pages.audit}</PageLink>}
    >
      <QueryResult query={entries}>
        {rows =>
          rows.length === 0 ? (
            <Text c="dimmed" size="sm">
              {text.overview.noChanges}
            </Text>
          ) : (
            <ul className="changes">
              {rows.map(entry => (
                <li key={entry.id}>
                  <span>
                    <Actor entry={entry} /> · {entry.action} · <Subject entry={entry} />
                  </span>
                  <Text component="span" size="sm" c="dimmed">
                    <Timestamp at={entry.timestamp} format="ago" />
                  </Text>
                </li>
              ))}
            </ul>
          )
        }
      </QueryResult>
    </Section>
  )
}

/** Leaves out what was refused, and sign-ins, which change nothing that others see. */
const isChange = ({ status, action }: Entry): boolean =>
  (status === null || status < 400) && !action.startsWith('session.')
