import { Button, NativeSelect, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { call, rows } from '../../api/call.ts'
import { ConfirmAction } from '../../parts/ConfirmAction.tsx'
import { Dialog } from '../../parts/Dialog.tsx'
import { EmptyState } from '../../parts/EmptyState.tsx'
import { PageHead } from '../../parts/PageHead.tsx'
import { actionsColumn } from '../../parts/table/columns.tsx'
import { QueryTable } from '../../parts/table/QueryTable.tsx'
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
  const liftButton = (ban: Ban) =>
    ban.state === 'in_force' && (
      <Button size="compact-xs" variant="default" onClick={() => select(ban)}>
        {text.bans.lift}
      </Button>
    )
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
      <QueryTable
        query={bans}
        name="bans"
        what={text.bans.what}
        columns={[...banColumns, actionsColumn(liftButton, 5)]}
        idOf={({ ban_id }) => ban_id}
        empty={<EmptyState what={filter === 'all' ? text.bans.emptyAll : text.bans.empty}>{add}</EmptyState>}
      />
      <Dialog isOpen={path === '/bans/new'} onClose={() => go('/bans')} title={text.bans.add}>
        <NewBan onDone={() => go('/bans')} />
      </Dialog>
      {selected && <Lift ban={selected} onClose={() => select(null)} />}
    </>
  )
}

const Lift = ({ ban, onClose }: { readonly ban: Ban; readonly onClose: () => void }) => (
  <ConfirmAction
    title={text.bans.liftTitle(ban.source, ban.client_name)}
    action={text.bans.lift}
    run={() => call('DELETE /v1/bans/{ban_id}', { path: { ban_id: ban.ban_id } })}
    notice={text.bans.lifted}
    onClose={onClose}
  >
    <Text>{text.bans.liftText}</Text>
  </ConfirmAction>
)
