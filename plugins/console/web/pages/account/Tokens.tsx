import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call, rows } from '../../api/call.ts'
import { ConfirmAction } from '../../parts/dialog/ConfirmAction.tsx'
import { Dialog } from '../../parts/dialog/Dialog.tsx'
import { SectionWithForm } from '../../parts/page/SectionWithForm.tsx'
import { RowMenu } from '../../parts/RowMenu.tsx'
import { Secret } from '../../parts/Secret.tsx'
import { actionsColumn } from '../../parts/table/columns.tsx'
import { QueryTable } from '../../parts/table/QueryTable.tsx'
import { text } from '../../text/text.ts'
import { IssueToken } from './IssueToken.tsx'
import { nameOf, stateOf, type Token, tokenColumns } from './token-columns.tsx'

interface OpenDialog {
  readonly what: 'rotate' | 'revoke'
  readonly token: Token
}

interface Props {
  readonly user: string
  readonly mayChange: boolean
}

/** Bearer tokens of a user, for that user and for those who see all. */
export function Tokens({ user, mayChange }: Props) {
  const tokens = useQuery({
    queryKey: ['tokens', user],
    queryFn: () => rows('GET /v1/users/{user_id}/credentials', { path: { user_id: user } })
  })
  const [dialog, setDialog] = useState<OpenDialog | null>(null)
  const actions = (token: Token) =>
    stateOf(token) === 'valid' && (
      <RowMenu
        row={nameOf(token)}
        actions={[
          { label: text.tokens.rotate, run: () => setDialog({ what: 'rotate', token }) },
          { label: text.tokens.revoke, run: () => setDialog({ what: 'revoke', token }), isDangerous: true }
        ]}
      />
    )
  return (
    <SectionWithForm
      title={text.tokens.title}
      note={text.tokens.text}
      addLabel={text.tokens.add}
      mayAdd={mayChange}
      form={close => <IssueToken user={user} onDone={close} />}
    >
      <QueryTable
        query={tokens}
        name="tokens"
        what={text.tokens.what}
        columns={mayChange ? [...tokenColumns, actionsColumn(actions, 4.5)] : tokenColumns}
        idOf={({ credential_id }) => credential_id}
        empty={text.tokens.empty}
      />
      {dialog?.what === 'rotate' && <Rotate {...dialog} onClose={() => setDialog(null)} />}
      {dialog?.what === 'revoke' && <Revoke {...dialog} onClose={() => setDialog(null)} />}
    </SectionWithForm>
  )
}

interface DialogProps {
  readonly token: Token
  readonly onClose: () => void
}

const pathOf = ({ user_id, credential_id: cred_id }: Token) => ({ user_id, cred_id })

function Rotate({ token, onClose }: DialogProps) {
  const [rotated, setRotated] = useState<string | null>(null)
  if (rotated !== null)
    return (
      <Dialog isOpen onClose={onClose} title={text.tokens.rotate}>
        <Secret name={nameOf(token)} value={rotated} onDone={onClose} />
      </Dialog>
    )
  return (
    <ConfirmAction
      title={text.tokens.rotateTitle(nameOf(token))}
      action={text.tokens.rotate}
      run={() => call('POST /v1/users/{user_id}/credentials/{cred_id}/rotate', { path: pathOf(token) })}
      onClose={onClose}
      onDone={({ token }) => setRotated(token)}
    >
      <Text>{text.tokens.rotateText}</Text>
    </ConfirmAction>
  )
}

const Revoke = ({ token, onClose }: DialogProps) => (
  <ConfirmAction
    title={text.tokens.revokeTitle(nameOf(token))}
    action={text.tokens.revoke}
    run={() => call('DELETE /v1/users/{user_id}/credentials/{cred_id}', { path: pathOf(token) })}
    notice={text.tokens.revoked}
    onClose={onClose}
  >
    <Text>{text.tokens.revokeText}</Text>
  </ConfirmAction>
)
