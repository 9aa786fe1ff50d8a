import { Button, Text } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call, type Row, rows } from '../../api/call.ts'
import { notify } from '../../app/notices.ts'
import { Confirm } from '../../parts/ConfirmDialog.tsx'
import { Empty } from '../../parts/EmptyState.tsx'
import { Loaded } from '../../parts/QueryResult.tsx'
import { Section } from '../../parts/Section.tsx'
import { When } from '../../parts/Timestamp.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { Table } from '../../parts/table/Table.tsx'
import { text } from '../../text/text.ts'

type Session = Row<'GET /v1/users/me/sessions'>

const timeColumn = (name: 'began' | 'seen' | 'ends', of: (session: Session) => string): Column<Session> => ({
  id: name,
  title: text.sessions[name],
  value: session => Date.parse(of(session)),
  cell: session => <When at={of(session)} {...(name !== 'ends' && { form: 'ago' })} />,
  width: 8,
  ...(name !== 'seen' && { wide: true })
})

const columns: readonly Column<Session>[] = [
  {
    id: 'from',
    title: text.sessions.from,
    value: ({ remote_addr, current }) => (current ? `${remote_addr} (${text.sessions.current})` : remote_addr)
  },
  timeColumn('began', ({ created_at }) => created_at),
  timeColumn('seen', ({ last_seen_at }) => last_seen_at),
  timeColumn('ends', ({ expires_at }) => expires_at)
]

/** The caller's own browsers. This one ends by signing out. */
export function Sessions() {
  const sessions = useQuery({ queryKey: ['sessions'], queryFn: () => rows('GET /v1/users/me/sessions') })
  const [asked, ask] = useState<Session | null>(null)
  const end = useMutation({
    mutationFn: (session_id: string) =>
      call('DELETE /v1/users/me/sessions/{session_id}', { path: { session_id } }),
    onSuccess: () => {
      notify(text.sessions.ended)
      ask(null)
    }
  })
  const buttons: Column<Session> = {
    id: 'do',
    title: '',
    value: () => '',
    cell: session =>
      !session.current && (
        <Button size="compact-xs" variant="default" onClick={() => ask(session)}>
          {text.sessions.end}
        </Button>
      ),
    width: 5
  }
  return (
    <Section title={text.sessions.title}>
      <Loaded query={sessions}>
        {all => (
          <Table
            name="sessions"
            what={text.sessions.what}
            rows={all}
            columns={[...columns, buttons]}
            idOf={({ session_id }) => session_id}
            empty={<Empty what={text.sessions.empty} />}
          />
        )}
      </Loaded>
      {asked && (
        <Confirm
          isOpen
          onClose={() => ask(null)}
          title={text.sessions.endTitle(asked.remote_addr)}
          does={text.sessions.end}
          isBusy={end.isPending}
          onConfirm={() => end.mutate(asked.session_id)}
        >
          <Text>{text.sessions.endText}</Text>
        </Confirm>
      )}
    </Section>
  )
}
