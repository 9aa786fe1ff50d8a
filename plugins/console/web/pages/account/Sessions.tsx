import { Button, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call, type Row, rows } from '../../api/call.ts'
import { ConfirmAction } from '../../parts/dialog/ConfirmAction.tsx'
import { Section } from '../../parts/page/Section.tsx'
import { actionsColumn, longTextColumn, timeColumn } from '../../parts/table/columns.tsx'
import { QueryTable } from '../../parts/table/QueryTable.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { text } from '../../text/text.ts'
import { factorsText } from '../users/factors-text.ts'

type Session = Row<'GET /v1/users/me/sessions'>

const columns: readonly Column<Session>[] = [
  {
    id: 'from',
    title: text.sessions.from,
    value: ({ remote_addr, current }) => (current ? `${remote_addr} (${text.sessions.current})` : remote_addr)
  },
  longTextColumn('factors', text.sessions.factors, ({ factors }) => factorsText(factors), { width: 8 }),
  timeColumn('created_at', text.sessions.began, { format: 'ago', width: 8 }),
  timeColumn('last_seen_at', text.sessions.seen, { format: 'ago', width: 8 }),
  timeColumn('expires_at', text.sessions.ends, { width: 8 })
]

/** Sessions of the signed-in user. To end the current one, sign out. */
export function Sessions() {
  const sessions = useQuery({ queryKey: ['sessions'], queryFn: () => rows('GET /v1/users/me/sessions') })
  const [selected, select] = useState<Session | null>(null)
  const endButton = (session: Session) =>
    !session.current && (
      <Button size="compact-xs" variant="default" onClick={() => select(session)}>
        {text.sessions.end}
      </Button>
    )
  return (
    <Section title={text.sessions.title}>
      <QueryTable
        query={sessions}
        name="sessions"
        what={text.sessions.what}
        columns={[...columns, actionsColumn(endButton, 5)]}
        idOf={({ session_id }) => session_id}
        empty={text.sessions.empty}
      />
      {selected && (
        <ConfirmAction
          title={text.sessions.endTitle(selected.remote_addr)}
          action={text.sessions.end}
          run={() =>
            call('DELETE /v1/users/me/sessions/{session_id}', { path: { session_id: selected.session_id } })
          }
          notice={text.sessions.ended}
          onClose={() => select(null)}
        >
          <Text>{text.sessions.endText}</Text>
        </ConfirmAction>
      )}
    </Section>
  )
}
