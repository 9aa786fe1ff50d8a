import { Button, NativeSelect, Text } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { call, rows } from '../../api/call.ts'
import { notify } from '../../app/notices.ts'
import { ConfirmDialog } from '../../parts/ConfirmDialog.tsx'
import { Dialog } from '../../parts/Dialog.tsx'
import { EmptyState } from '../../parts/EmptyState.tsx'
import { PageHead } from '../../parts/PageHead.tsx'
import { QueryResult } from '../../parts/QueryResult.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { Table } from '../../parts/table/Table.tsx'
import { text } from '../../text/text.ts'
import { type Ban, banColumns } from './ban-columns.tsx'
import { NewBan } from './NewBan.tsx'
import { UnderAttack } from './UnderAttack.tsx'

type BanFilter = keyof typeof text.bans.shown

export default function Bans() {
  const [filter, setFilter] = useState<BanFilter>('in_force')
  const bans = useQuery({
    queryKey: ['bans', filter],
    queryFn: () => rows('GET /v1/bans', { query: { state: filter } })
  })
  const [path, go] = useLocation()
  const [selected, select] = useState<Ban | null>(null)
  const liftColumn: Column<Ban> = {
    id: 'do',
    title: '',
    value: () => '',
    cell: ban =>
      ban.state === 'in_force' && (
        <Button size="compact-xs" variant="default" onClick={() => select(ban)}>
          {text.bans.lift}
        </Button>
      ),
    width: 5
  }
  const add = (
    <Button component={Link} href="/bans/new">
      {text.bans.add}
    </Button>
  )
  return (
    <>
      <PageHead title={text.pages.bans}>
        <NativeSelect
          aria-label={text.bans.show}
          data={Object.entries(text.bans.shown).map(([value, label]) => ({ value, label }))}
          value={filter}
          onChange={event => setFilter(event.currentTarget.value as BanFilter)}
        />
        {add}
      </PageHead>
      <UnderAttack />
      <QueryResult query={bans}>
        {all => (
          <Table
            name="bans"
            what={text.bans.what}
            rows={all}
            columns={[...banColumns, liftColumn]}
            idOf={({ ban_id }) => ban_id}
            empty={
              <EmptyState what={filter === 'all' ? text.bans.emptyAll : text.bans.empty}>{add}</EmptyState>
            }
          />
        )}
      </QueryResult>
      <Dialog isOpen={path === '/bans/new'} onClose={() => go('/bans')} title={text.bans.add}>
        <NewBan onDone={() => go('/bans')} />
      </Dialog>
      {selected && <Lift ban={selected} onClose={() => select(null)} />}
    </>
  )
}

function Lift({ ban, onClose }: { readonly ban: Ban; readonly onClose: () => void }) {
  const lift = useMutation({
    mutationFn: () => call('DELETE /v1/bans/{ban_id}', { path: { ban_id: ban.ban_id } }),
    onSuccess: () => {
      notify(text.bans.lifted)
      onClose()
    }
  })
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={text.bans.liftTitle(ban.source, ban.client_name)}
      action={text.bans.lift}
      isBusy={lift.isPending}
      onConfirm={() => lift.mutate()}
    >
      <Text>{text.bans.liftText}</Text>
    </ConfirmDialog>
  )
}
