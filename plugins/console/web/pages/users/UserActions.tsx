import { Button, Text } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { call, type Versioned } from '../../api/call.ts'
import { count } from '../../format.ts'
import { ConfirmAction } from '../../parts/ConfirmAction.tsx'
import { ConfirmDialog } from '../../parts/ConfirmDialog.tsx'
import { Dialog } from '../../parts/Dialog.tsx'
import { text } from '../../text/text.ts'
import { EditUser } from './EditUser.tsx'
import type { User } from './queries.ts'
import { ResetPassword } from './ResetPassword.tsx'

type OpenDialog = 'edit' | 'reset' | 'disable' | 'delete'

/** Buttons on the page of a user. Users cannot disable or delete themselves, so these buttons are hidden. */
export function UserActions({ read, isSelf }: { readonly read: Versioned<User>; readonly isSelf: boolean }) {
  const [dialog, setDialog] = useState<OpenDialog | null>(null)
  const { user_id, disabled } = read.value
  const close = (): void => setDialog(null)
  const setDisabled = useMutation({
    mutationFn: (disabled: boolean) =>
      call('PATCH /v1/users/{user_id}', { path: { user_id }, body: { disabled } }),
    onSuccess: close
  })
  return (
    <>
      <Button variant="default" onClick={() => setDialog('edit')}>
        {text.edit}
      </Button>
      {!isSelf && (
        <>
          <Button variant="default" onClick={() => setDialog('reset')}>
            {text.users.reset}
          </Button>
          <Button
            variant="default"
            loading={setDisabled.isPending}
            onClick={() => (disabled ? setDisabled.mutate(false) : setDialog('disable'))}
          >
            {disabled ? text.users.enable : text.users.disable}
          </Button>
          <Button variant="default" c="var(--bad)" onClick={() => setDialog('delete')}>
            {text.users.delete}
          </Button>
        </>
      )}
      <Dialog isOpen={dialog === 'edit'} onClose={close} title={text.clients.editTitle(user_id)}>
        <EditUser opened={read} onDone={close} />
      </Dialog>
      <Dialog isOpen={dialog === 'reset'} onClose={close} title={text.users.resetTitle(user_id)}>
        <ResetPassword id={user_id} onDone={close} />
      </Dialog>
      <ConfirmDialog
        isOpen={dialog === 'disable'}
        onClose={close}
        title={text.users.disableTitle(user_id)}
        action={text.users.disable}
        isBusy={setDisabled.isPending}
        onConfirm={() => setDisabled.mutate(true)}
      >
        <Text>{text.users.disableText}</Text>
      </ConfirmDialog>
      <DeleteUser user={read.value} isOpen={dialog === 'delete'} onClose={close} />
    </>
  )
}

interface DeleteProps {
  readonly user: User
  readonly isOpen: boolean
  readonly onClose: () => void
}

function DeleteUser({ user, isOpen, onClose }: DeleteProps) {
  const { user_id, rule_count, grant_count, credential_count } = user
  const [, go] = useLocation()
  const live = useQuery({
    queryKey: ['live-of', user_id],
    enabled: isOpen,
    queryFn: () => call('DELETE /v1/connections', { query: { owner: user_id, dry_run: true } })
  })
  const connections = live.data ? count(live.data.matched) : live.isError ? text.number.unknown : '…'
  return (
    <ConfirmAction
      isOpen={isOpen}
      run={() => call('DELETE /v1/users/{user_id}', { path: { user_id } })}
      notice={text.deleted(user_id)}
      onClose={onClose}
      onDone={() => go('/users')}
      title={text.users.deleteTitle(user_id)}
      action={text.users.delete}
    >
      <Text>{text.users.deleteText(count(rule_count), count(grant_count), count(credential_count))}</Text>
      <Text role="status">{text.number.connections(connections)}</Text>
      <Text>{text.cannotUndo}</Text>
    </ConfirmAction>
  )
}
