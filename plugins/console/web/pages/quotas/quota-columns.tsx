import { Anchor } from '@mantine/core'
import { Link } from 'wouter'
import { unixToRfc3339 } from '../../parts/local-time.ts'
import { Timestamp } from '../../parts/Timestamp.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { UsageBar } from '../../parts/UsageBar.tsx'
import { text } from '../../text/text.ts'
import { UserLink } from '../users/UserLink.tsx'
import { type Quota, shareOf, standingOf, toneOf, usageText } from './quota.ts'

const user: Column<Quota> = {
  id: 'user',
  title: text.quotas.user,
  value: ({ user_id }) => user_id,
  cell: ({ user_id }) => <UserLink id={user_id} />,
  width: 6
}

const rest: readonly Column<Quota>[] = [
  {
    id: 'client',
    title: text.quotas.client,
    value: ({ client_name }) => client_name,
    cell: ({ client_id, client_name }) => (
      <Anchor component={Link} href={`/clients/${client_id}`} size="sm">
        {client_name}
      </Anchor>
    ),
    width: 4
  },
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
    width: 8,
    wide: true
  },
  {
    id: 'period',
    title: text.quotas.period,
    value: ({ period_end }) => period_end,
    cell: ({ period_end }) => <Timestamp at={unixToRfc3339(period_end)} />,
    width: 11,
    wide: true
  }
]

export const quotaColumns = (users: 'all' | 'one'): readonly Column<Quota>[] =>
  users === 'all' ? [user, ...rest] : rest

const Standing = ({ quota }: { readonly quota: Quota }) => {
  const standing = standingOf(quota)
  return (
    <span title={standing === 'pending' ? text.quotas.pendingHint : undefined}>
      <span className="dot" data-tone={standing === 'pending' ? 'warn' : toneOf(quota)} aria-hidden="true" />
      {text.quotas.states[standing]}
    </span>
  )
}
