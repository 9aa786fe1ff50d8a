import { Button, NativeSelect, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call, rows } from '../../api/call.ts'
import { useRight } from '../../api/rights.ts'
import { ConfirmAction } from '../../parts/dialog/ConfirmAction.tsx'
import { EmptyState } from '../../parts/EmptyState.tsx'
import { toOptions } from '../../parts/form/to-options.ts'
import { ListPage } from '../../parts/page/ListPage.tsx'
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
  const [selected, select] = useState<Ban | null>(null)
  const mayChange = useRight('managesAll')
  const liftButton = (ban: Ban) =>
    ban.state === 'in_force' && (
      <Button size="compact-xs" variant="default" onClick={() => select(ban)}>
        {text.bans.lift}
      </Button>
    )
  return (
    <ListPage
      path="/bans"
      title={text.pages.bans}
      addLabel={text.bans.add}
      mayAdd={mayChange}
      form={go => <NewBan onDone={() => go('/bans')} />}
      tools={
        <NativeSelect
          aria-label={text.bans.show}
          data={toOptions(text.bans.shown)}
          value={filter}
          onChange={event => setFilter(event.currentTarget.value as BanFilter)}
        />
      }
    >
      {addButton => (
        <>
          <UnderAttack />
          <QueryTable
            query={bans}
            name="bans"
            what={text.bans.what}
            columns={mayChange ? [...banColumns, actionsColumn(liftButton, 5)] : banColumns}
            idOf={({ ban_id }) => ban_id}
            empty={
              <EmptyState what={filter === 'all' ? text.bans.emptyAll : text.bans.empty}>
                {addButton}
              </EmptyState>
            }
          />
          {selected && <Lift ban={selected} onClose={() => select(null)} />}
        </>
      )}
    </ListPage>
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
