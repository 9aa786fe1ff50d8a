import { Button, Text } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { call, type Versioned } from '../../api/call.ts'
import { count } from '../../format.ts'
import { ConfirmButton } from '../../parts/dialog/ConfirmButton.tsx'
import { ConfirmDialog } from '../../parts/dialog/ConfirmDialog.tsx'
import { DialogButton } from '../../parts/dialog/DialogButton.tsx'
import { text } from '../../text/text.ts'
import { EditUser } from './EditUser.tsx'
import type { User } from './queries.ts'
import { ResetPassword } from './ResetPassword.tsx'

/** Buttons on the page of a user. Users cannot disable or delete themselves, so these buttons are hidden. */
export function UserActions({ read, isSelf }: { readonly read: Versioned<User>; readonly isSelf: boolean }) {
  const { user_id, kind, second_factors } = read.value
  return (
    <>
      <DialogButton label={text.edit} title={text.clients.editTitle(user_id)}>
        {close => <EditUser opened={read} onDone={close} />}
      </DialogButton>
      {!isSelf && (
        <>
          {kind === 'user' && (
            <DialogButton label={text.users.reset} title={text.users.resetTitle(user_id)}>
              {close => <ResetPassword id={user_id} onDone={close} />}
            </DialogButton>
          )}
          {(second_factors?.length ?? 0) > 0 && <DropButton user={user_id} />}
          <DisableButton user={read.value} />
          <DeleteButton user={read.value} />
        </>
      )}
    </>
  )
}

const DropButton = ({ user: user_id }: { readonly user: string }) => (
  <ConfirmButton
    title={text.users.dropFactorsTitle(user_id)}
    action={text.users.dropFactors}
    run={() => call('DELETE /v1/users/{user_id}/second-factors', { path: { user_id } })}
    notice={text.users.factorsDropped(user_id)}
  >
    <Text>{text.users.dropFactorsText}</Text>
  </ConfirmButton>
)

/** Disables the user after a confirmation, or enables a disabled one at once. */
function DisableButton({ user: { user_id, disabled } }: { readonly user: User }) {
  const [isOpen, setOpen] = useState(false)
  const change = useMutation({
    mutationFn: (disabled: boolean) =>
      call('PATCH /v1/users/{user_id}', { path: { user_id }, body: { disabled } }),
    onSuccess: () => setOpen(false)
  })
  return (
    <>
      <Button
        variant="default"
        loading={change.isPending}
        onClick={() => (disabled ? change.mutate(false) : setOpen(true))}
      >
        {disabled ? text.users.enable : text.users.disable}
      </Button>
      <ConfirmDialog
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        title={text.users.disableTitle(user_id)}
        action={text.users.disable}
        isBusy={change.isPending}
        onConfirm={() => change.mutate(true)}
      >
        <Text>{text.users.disableText}</Text>
      </ConfirmDialog>
    </>
  )
}

function DeleteButton({ user }: { readonly user: User }) {
  const { user_id, rule_count, grant_count, credential_count } = user
  const [, go] = useLocation()
  return (
    <ConfirmButton
      title={text.users.deleteTitle(user_id)}
      action={text.users.delete}
      run={() => call('DELETE /v1/users/{user_id}', { path: { user_id } })}
      notice={text.deleted(user_id)}
      onDone={() => go('/users')}
    >
      <Text>{text.users.deleteText(count(rule_count), count(grant_count), count(credential_count))}</Text>
      <OpenConnections owner={user_id} />
      <Text>{text.cannotUndo}</Text>
    </ConfirmButton>
  )
}

function OpenConnections({ owner }: { readonly owner: string }) {
  const live = useQuery({
    queryKey: ['live-of', owner],
    queryFn: () => call('DELETE /v1/connections', { query: { owner, dry_run: true } })
  })
  const connections = live.data ? count(live.data.matched) : live.isError ? text.number.unknown : '…'
  return <Text role="status">{text.number.connections(connections)}</Text>
}
