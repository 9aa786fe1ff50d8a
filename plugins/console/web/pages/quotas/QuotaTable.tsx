import { Text } from '@mantine/core'
import { useState } from 'react'
import { call } from '../../api/call.ts'
import { useRight } from '../../api/rights.ts'
import { bytes } from '../../format.ts'
import { ConfirmAction } from '../../parts/dialog/ConfirmAction.tsx'
import { Dialog } from '../../parts/dialog/Dialog.tsx'
import { browserTimeZone } from '../../parts/local-time.ts'
import { RowMenu } from '../../parts/RowMenu.tsx'
import { actionsColumn } from '../../parts/table/columns.tsx'
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
  const seesAll = useRight('seesAll')
  const close = (): void => setDialog(null)
  const actions = (quota: Quota) => (
    <RowMenu
      row={text.quotas.editTitle(quota.user_id, quota.client_name)}
      actions={[
        { label: text.edit, run: () => setDialog({ what: 'edit', quota }) },
        { label: text.quotas.clear, run: () => setDialog({ what: 'clear', quota }) },
        { label: text.delete, run: () => setDialog({ what: 'delete', quota }), isDangerous: true }
      ]}
    />
  )
  return (
    <>
      <Table
        name="quotas"
        what={text.quotas.what}
        rows={quotas}
        columns={mayChange ? [...quotaColumns(users), actionsColumn(actions, 3)] : quotaColumns(users)}
        idOf={({ user_id, client_id }) => `${user_id} ${client_id}`}
        empty={seesAll ? text.quotas.none[users] : text.quotas.emptyOwn}
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
  if (what === 'delete')
    return (
      <ConfirmAction
        title={text.quotas.deleteTitle(user_id, client_name)}
        action={text.delete}
        run={() => call('DELETE /v1/users/{user_id}/quotas/{client_id}', { path })}
        notice={text.deleted(text.quotas.editTitle(user_id, client_name))}
        onClose={onClose}
      >
        <Text>{text.quotas.deleteText}</Text>
      </ConfirmAction>
    )
  const body = { clear_period_usage: true } as const
  return (
    <ConfirmAction
      title={text.quotas.clearTitle(user_id, client_name)}
      action={text.quotas.clear}
      run={() => call('PATCH /v1/users/{user_id}/quotas/{client_id}', { path, body })}
      notice={text.quotas.cleared}
      onClose={onClose}
    >
      <Text>{text.quotas.clearText(bytes(bytes_used))}</Text>
    </ConfirmAction>
  )
}
