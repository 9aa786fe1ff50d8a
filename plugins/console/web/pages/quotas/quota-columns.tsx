import { Dot } from '../../parts/Dot.tsx'
import { unixToRfc3339 } from '../../parts/local-time.ts'
import { Timestamp } from '../../parts/Timestamp.tsx'
import { linkColumn } from '../../parts/table/columns.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { UsageBar } from '../../parts/UsageBar.tsx'
import { text } from '../../text/text.ts'
import { type Quota, shareOf, standingOf, toneOf, usageText } from './quota.ts'

const user: Column<Quota> = linkColumn('user', text.quotas.user, ({ user_id: id }) => [id, `/users/${id}`], {
  width: 6
})

const rest: readonly Column<Quota>[] = [
  linkColumn('client', text.quotas.client, quota => [quota.client_name, `/clients/${quota.client_id}`], {
    width: 4
  }),
  {
    id: 'used',
    title: text.quotas.used,
    value: shareOf,
    cell: quota => <UsageBar share={shareOf(quota)} label={usageText(quota)} tone={toneOf(quota)} />,
    width: 14
  },
  {
    id: 'state',
    title: text.quotas.state,
    value: quota => text.quotas.states[standingOf(quota)],
    cell: quota => <Standing quota={quota} />,
    width: 8
  },
  {
    id: 'period',
    title: text.quotas.period,
    value: ({ period_end }) => period_end,
    cell: ({ period_end }) => <Timestamp at={unixToRfc3339(period_end)} />,
    width: 11
  }
]

export const quotaColumns = (users: 'all' | 'one'): readonly Column<Quota>[] =>
  users === 'all' ? [user, ...rest] : rest

const Standing = ({ quota }: { readonly quota: Quota }) => {
  const standing = standingOf(quota)
  return (
    <span title={standing === 'pending' ? text.quotas.pendingHint : undefined}>
      <Dot tone={standing === 'pending' ? 'warn' : toneOf(quota)} />
      {text.quotas.states[standing]}
    </span>
  )
}
