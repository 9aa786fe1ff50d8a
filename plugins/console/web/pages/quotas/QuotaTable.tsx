import { Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/call.ts'
import { notify } from '../../app/notices.ts'
import { bytes } from '../../format.ts'
import { ConfirmDialog } from '../../parts/ConfirmDialog.tsx'
import { Dialog } from '../../parts/Dialog.tsx'
import { EmptyState } from '../../parts/EmptyState.tsx'
import { browserTimeZone } from '../../parts/local-time.ts'
import { RowMenu } from '../../parts/RowMenu.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { Table } from '../../parts/table/Table.tsx'
import { text } from '../../text/text.ts'
import { EditQuota } from './EditQuota.tsx'
import { pathOf, type Quota } from './quota.ts'
import { quotaColumns } from './quota-columns.tsx'

interface Props {
  readonly quotas: readonly Quota[]
  readonly users: 'all' | 'one'
  readonly mayChange: boolean
}

interface OpenDialog {
  readonly what: 'edit' | 'clear' | 'delete'
  readonly quota: Quota
}

export function QuotaTable({ quotas, users, mayChange }: Props) {
  const [dialog, setDialog] = useState<OpenDialog | null>(null)
  const close = (): void => setDialog(null)
  const actionsColumn: Column<Quota> = {
    id: 'do',
    title: '',
    value: () => '',
    cell: quota => (
      <RowMenu
        row={text.quotas.editTitle(quota.user_id, quota.client_name)}
        actions={[
          { label: text.edit, run: () => setDialog({ what: 'edit', quota }) },
          { label: text.quotas.clear, run: () => setDialog({ what: 'clear', quota }) },
          { label: text.delete, run: () => setDialog({ what: 'delete', quota }), isDangerous: true }
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
        columns={mayChange ? [...quotaColumns(users), actionsColumn] : quotaColumns(users)}
        idOf={({ user_id, client_id }) => `${user_id} ${client_id}`}
        empty={<EmptyState what={mayChange ? text.quotas.none[users] : text.quotas.emptyOwn} />}
      />
      {quotas.length > 0 && (
        <Text size="sm" c="dimmed" mt="xs">
          {text.when.zone(browserTimeZone())}
        </Text>
      )}
      <Dialog
        isOpen={dialog?.what === 'edit'}
        onClose={close}
        title={dialog ? text.quotas.editTitle(dialog.quota.user_id, dialog.quota.client_name) : ''}
      >
        {dialog && <EditQuota quota={dialog.quota} onDone={close} />}
      </Dialog>
      {dialog && dialog.what !== 'edit' && (
        <ConfirmChange what={dialog.what} quota={dialog.quota} onClose={close} />
      )}
    </>
  )
}

interface ConfirmChangeProps {
  readonly what: 'clear' | 'delete'
  readonly quota: Quota
  readonly onClose: () => void
}

function ConfirmChange({ what, quota, onClose }: ConfirmChangeProps) {
  const { user_id, client_name, bytes_used } = quota
  const path = pathOf(quota)
  const change = useMutation({
    mutationFn: () =>
      what === 'clear'
        ? call('PATCH /v1/users/{user_id}/quotas/{client_id}', { path, body: { clear_period_usage: true } })
        : call('DELETE /v1/users/{user_id}/quotas/{client_id}', { path }),
    onSuccess: () => {
      notify(
        what === 'clear' ? text.quotas.cleared : text.deleted(text.quotas.editTitle(user_id, client_name))
      )
      onClose()
    }
  })
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={text.quotas[`${what}Title`](user_id, client_name)}
      action={what === 'clear' ? text.quotas.clear : text.delete}
      isBusy={change.isPending}
      onConfirm={() => change.mutate()}
    >
      <Text>{what === 'clear' ? text.quotas.clearText(bytes(bytes_used)) : text.quotas.deleteText}</Text>
    </ConfirmDialog>
  )
}
