import { Group, Paper, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { call } from '../../api/call.ts'
import { PageLink } from '../../parts/page/PageLink.tsx'
import { QuerySection } from '../../parts/page/QuerySection.tsx'
import { ShortList } from '../../parts/ShortList.tsx'
import { Timestamp } from '../../parts/Timestamp.tsx'
import { text } from '../../text/text.ts'
import { Actor, Subject, verbOf } from '../audit/audit-columns.tsx'
import type { Entry } from '../audit/use-entries.ts'
import { useRecordNames } from '../audit/use-record-names.ts'

const maxRead = 50
const maxShown = 6

/** The last changes that were made, newest first. */
export function RecentChanges() {
  const nameOf = useRecordNames()
  const entries = useQuery({
    queryKey: ['audit', 'changes'],
    refetchInterval: 30_000,
    queryFn: async (): Promise<readonly Entry[]> => {
      const found = await call('GET /v1/audit', { query: { outcome: 'allow', limit: maxRead } })
      return (Array.isArray(found) ? found : found.entries).filter(isChange).slice(0, maxShown)
    }
  })
  return (
    <QuerySection
      query={entries}
      title={text.overview.changes}
      actions={<PageLink to="/audit?outcome=allow">{text.pages.audit}</PageLink>}
    >
      {rows => (
        <Paper withBorder p="md">
          <ShortList rows={rows} idOf={({ id }) => id} empty={text.overview.noChanges}>
            {entry => (
              <>
                <span>
                  <Subject entry={entry} nameOf={nameOf} /> {verbOf(entry)}
                </span>
                <Group gap="xs" component="span">
                  <Actor entry={entry} />
                  <Text span c="dimmed">
                    <Timestamp at={entry.timestamp} format="ago" />
                  </Text>
                </Group>
              </>
            )}
          </ShortList>
        </Paper>
      )}
    </QuerySection>
  )
}

/** Leaves out what was refused, and sign-ins, which change nothing that others see. */
const isChange = ({ status, action }: Entry): boolean =>
  (status === null || status < 400) && !/^(session\.|auth\.log)/.test(action)
