import { Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/call.ts'
import { notify } from '../../app/notices.ts'
import { bytes } from '../../format.ts'
import { Confirm } from '../../parts/ConfirmDialog.tsx'
import { Dialog } from '../../parts/Dialog.tsx'
import { Empty } from '../../parts/EmptyState.tsx'
import { zone } from '../../parts/local-time.ts'
import { RowMenu } from '../../parts/RowMenu.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { Table } from '../../parts/table/Table.tsx'
import { text } from '../../text/text.ts'
import { columnsOf } from './columns.tsx'
import { EditQuota } from './EditQuota.tsx'
import { pathOf, type Quota } from './quota.ts'

interface Props {
  readonly quotas: readonly Quota[]
  readonly whose: 'all' | 'one'
  readonly mayChange: boolean
}

interface Asked {
  readonly what: 'edit' | 'clear' | 'delete'
  readonly quota: Quota
}

export function QuotaTable({ quotas, whose, mayChange }: Props) {
  const [asked, ask] = useState<Asked | null>(null)
  const close = (): void => ask(null)
  const buttons: Column<Quota> = {
    id: 'do',
    title: '',
    value: () => '',
    cell: quota => (
      <RowMenu
        of={text.quotas.editTitle(quota.user_id, quota.client_name)}
        actions={[
          { label: text.edit, run: () => ask({ what: 'edit', quota }) },
          { label: text.quotas.clear, run: () => ask({ what: 'clear', quota }) },
          { label: text.delete, run: () => ask({ what: 'delete', quota }), isDangerous: true }
        ]}
      />
    ),
    width: 3
  }
  return (
    <>
      <Table
        name="quotas"
        what={text.quotas.what}
        rows={quotas}
        columns={mayChange ? [...columnsOf(whose), buttons] : columnsOf(whose)}
        idOf={({ user_id, client_id }) => `${user_id} ${client_id}`}
        empty={<Empty what={mayChange ? text.quotas.none[whose] : text.quotas.emptyOwn} />}
      />
      {quotas.length > 0 && (
        <Text size="sm" c="dimmed" mt="xs">
          {text.when.zone(zone())}
        </Text>
      )}
      <Dialog
        isOpen={asked?.what === 'edit'}
        onClose={close}
        title={asked ? text.quotas.editTitle(asked.quota.user_id, asked.quota.client_name) : ''}
      >
        {asked && <EditQuota quota={asked.quota} onDone={close} />}
      </Dialog>
      {asked && asked.what !== 'edit' && <Asks what={asked.what} quota={asked.quota} onClose={close} />}
    </>
  )
}

interface AsksProps {
  readonly what: 'clear' | 'delete'
  readonly quota: Quota
  readonly onClose: () => void
}

function Asks({ what, quota, onClose }: AsksProps) {
  const { user_id, client_name, bytes_used } = quota
  const path = pathOf(quota)
  const change = useMutation({
    mutationFn: () =>
      what === 'clear'
        ? call('PATCH /v1/users/{user_id}/quotas/{client_id}', { path, body: { clear_period_usage: true } })
        : call('DELETE /v1/users/{user_id}/quotas/{client_id}', { path }),
    onSuccess: () => {
      notify(what === 'clear' ? text.quotas.cleared : text.gone(text.quotas.editTitle(user_id, client_name)))
      onClose()
    }
  })
  return (
    <Confirm
      isOpen
      onClose={onClose}
      title={text.quotas[`${what}Title`](user_id, client_name)}
      does={what === 'clear' ? text.quotas.clear : text.delete}
      isBusy={change.isPending}
      onConfirm={() => change.mutate()}
    >
      <Text>{what === 'clear' ? text.quotas.clearText(bytes(bytes_used)) : text.quotas.deleteText}</Text>
    </Confirm>
  )
}
