import { Button, Text } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call, rows } from '../../api/call.ts'
import { notify } from '../../app/notices.ts'
import { ConfirmDialog } from '../../parts/ConfirmDialog.tsx'
import { Dialog } from '../../parts/Dialog.tsx'
import { EmptyState } from '../../parts/EmptyState.tsx'
import { QueryResult } from '../../parts/QueryResult.tsx'
import { RowMenu } from '../../parts/RowMenu.tsx'
import { Secret } from '../../parts/Secret.tsx'
import { Section } from '../../parts/Section.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { Table } from '../../parts/table/Table.tsx'
import { text } from '../../text/text.ts'
import { IssueToken } from './IssueToken.tsx'
import { nameOf, stateOf, type Token, tokenColumns } from './token-columns.tsx'

interface OpenDialog {
  readonly what: 'rotate' | 'revoke'
  readonly token: Token
}

/** Bearer tokens of a user, for that user or an administrator. */
export function Tokens({ user }: { readonly user: string }) {
  const tokens = useQuery({
    queryKey: ['tokens', user],
    queryFn: () => rows('GET /v1/users/{user_id}/credentials', { path: { user_id: user } })
  })
  const [isAdding, add] = useState(false)
  const [dialog, setDialog] = useState<OpenDialog | null>(null)
  const buttons: Column<Token> = {
    id: 'do',
    title: '',
    value: () => '',
    cell: token =>
      stateOf(token) === 'valid' && (
        <RowMenu
          row={nameOf(token)}
          actions={[
            { label: text.tokens.rotate, run: () => setDialog({ what: 'rotate', token }) },
            {
              label: text.tokens.revoke,
              run: () => setDialog({ what: 'revoke', token }),
              isDangerous: true
            }
          ]}
        />
      ),
    width: 4.5
  }
  return (
    <Section
      title={text.tokens.title}
      note={text.tokens.text}
      actions={
        <Button variant="default" size="xs" onClick={() => add(true)}>
          {text.tokens.add}
        </Button>
      }
    >
      <QueryResult query={tokens}>
        {all => (
          <Table
            name="tokens"
            what={text.tokens.what}
            rows={all}
            columns={[...tokenColumns, buttons]}
            idOf={({ credential_id }) => credential_id}
            empty={<EmptyState what={text.tokens.empty} />}
          />
        )}
      </QueryResult>
      <Dialog isOpen={isAdding} onClose={() => add(false)} title={text.tokens.add}>
        <IssueToken user={user} onDone={() => add(false)} />
      </Dialog>
      {dialog?.what === 'rotate' && <Rotate {...dialog} onClose={() => setDialog(null)} />}
      {dialog?.what === 'revoke' && <Revoke {...dialog} onClose={() => setDialog(null)} />}
    </Section>
  )
}

interface DialogProps {
  readonly token: Token
  readonly onClose: () => void
}

const pathOf = ({ user_id, credential_id: cred_id }: Token) => ({ user_id, cred_id })

function Rotate({ token, onClose }: DialogProps) {
  const rotate = useMutation({
    mutationFn: () => call('POST /v1/users/{user_id}/credentials/{cred_id}/rotate', { path: pathOf(token) })
  })
  const title = text.tokens.rotateTitle(nameOf(token))
  if (rotate.data)
    return (
      <Dialog isOpen onClose={onClose} title={text.tokens.rotate}>
        <Secret name={nameOf(token)} value={rotate.data.token} onDone={onClose} />
      </Dialog>
    )
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={title}
      action={text.tokens.rotate}
      isBusy={rotate.isPending}
      onConfirm={() => rotate.mutate()}
    >
      <Text>{text.tokens.rotateText}</Text>
    </ConfirmDialog>
  )
}

function Revoke({ token, onClose }: DialogProps) {
  const revoke = useMutation({
    mutationFn: () => call('DELETE /v1/users/{user_id}/credentials/{cred_id}', { path: pathOf(token) }),
    onSuccess: () => {
      notify(text.tokens.revoked)
      onClose()
    }
  })
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={text.tokens.revokeTitle(nameOf(token))}
      action={text.tokens.revoke}
      isBusy={revoke.isPending}
      onConfirm={() => revoke.mutate()}
    >
      <Text>{text.tokens.revokeText}</Text>
    </ConfirmDialog>
  )
}
