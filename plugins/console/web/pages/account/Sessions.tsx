import { Button, Text } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call, type Row, rows } from '../../api/call.ts'
import { notify } from '../../app/notices.ts'
import { ConfirmDialog } from '../../parts/ConfirmDialog.tsx'
import { EmptyState } from '../../parts/EmptyState.tsx'
import { QueryResult } from '../../parts/QueryResult.tsx'
import { Section } from '../../parts/Section.tsx'
import { timeColumn } from '../../parts/table/columns.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { Table } from '../../parts/table/Table.tsx'
import { text } from '../../text/text.ts'

type Session = Row<'GET /v1/users/me/sessions'>

const columns: readonly Column<Session>[] = [
  {
    id: 'from',
    title: text.sessions.from,
    value: ({ remote_addr, current }) => (current ? `${remote_addr} (${text.sessions.current})` : remote_addr)
  },
  timeColumn('began', text.sessions.began, ({ created_at }) => created_at, {
    format: 'ago',
    width: 8,
    wide: true
  }),
  timeColumn('seen', text.sessions.seen, ({ last_seen_at }) => last_seen_at, { format: 'ago', width: 8 }),
  timeColumn('ends', text.sessions.ends, ({ expires_at }) => expires_at, { width: 8, wide: true })
]

/** Sessions of the signed-in user. To end the current one, sign out. */
export function Sessions() {
  const sessions = useQuery({ queryKey: ['sessions'], queryFn: () => rows('GET /v1/users/me/sessions') })
  const [selected, select] = useState<Session | null>(null)
  const end = useMutation({
    mutationFn: (session_id: string) =>
      call('DELETE /v1/users/me/sessions/{session_id}', { path: { session_id } }),
    onSuccess: () => {
      notify(text.sessions.ended)
      select(null)
    }
  })
  const buttons: Column<Session> = {
    id: 'do',
    title: '',
    value: () => '',
    cell: session =>
      !session.current && (
        <Button size="compact-xs" variant="default" onClick={() => select(session)}>
          {text.sessions.end}
        </Button>
      ),
    width: 5
  }
  return (
    <Section title={text.sessions.title}>
      <QueryResult query={sessions}>
        {all => (
          <Table
            name="sessions"
            what={text.sessions.what}
            rows={all}
            columns={[...columns, buttons]}
            idOf={({ session_id }) => session_id}
            empty={<EmptyState what={text.sessions.empty} />}
          />
        )}
      </QueryResult>
      {selected && (
        <ConfirmDialog
          isOpen
          onClose={() => select(null)}
          title={text.sessions.endTitle(selected.remote_addr)}
          action={text.sessions.end}
          isBusy={end.isPending}
          onConfirm={() => end.mutate(selected.session_id)}
        >
          <Text>{text.sessions.endText}</Text>
        </ConfirmDialog>
      )}
    </Section>
  )
}
