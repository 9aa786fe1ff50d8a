import { Button, Text } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { call, rows } from '../../api/call.ts'
import { notify } from '../../app/notices.ts'
import { Confirm } from '../../parts/ConfirmDialog.tsx'
import { Dialog } from '../../parts/Dialog.tsx'
import { Empty } from '../../parts/EmptyState.tsx'
import { Loaded } from '../../parts/QueryResult.tsx'
import { RowMenu } from '../../parts/RowMenu.tsx'
import { Secret } from '../../parts/Secret.tsx'
import { Section } from '../../parts/Section.tsx'
import type { Column } from '../../parts/table/rows.ts'
import { Table } from '../../parts/table/Table.tsx'
import { text } from '../../text/text.ts'
import { Issue } from './IssueToken.tsx'
import { type Credential, columns, nameOf, stateOf } from './token-columns.tsx'

interface Asked {
  readonly what: 'rotate' | 'revoke'
  readonly credential: Credential
}

/** The bearer tokens of a user: its own, or for administrators another's. */
export function Credentials({ of }: { readonly of: string }) {
  const credentials = useQuery({
    queryKey: ['credentials', of],
    queryFn: () => rows('GET /v1/users/{user_id}/credentials', { path: { user_id: of } })
  })
  const [isAdding, add] = useState(false)
  const [asked, ask] = useState<Asked | null>(null)
  const buttons: Column<Credential> = {
    id: 'do',
    title: '',
    value: () => '',
    cell: credential =>
      stateOf(credential) === 'valid' && (
        <RowMenu
          of={nameOf(credential)}
          actions={[
            { label: text.credentials.rotate, run: () => ask({ what: 'rotate', credential }) },
            {
              label: text.credentials.revoke,
              run: () => ask({ what: 'revoke', credential }),
              isDangerous: true
            }
          ]}
        />
      ),
    width: 4.5
  }
  return (
    <Section
      title={text.credentials.title}
      note={text.credentials.text}
      actions={
        <Button variant="default" size="xs" onClick={() => add(true)}>
          {text.credentials.add}
        </Button>
      }
    >
      <Loaded query={credentials}>
        {all => (
          <Table
            name="credentials"
            what={text.credentials.what}
            rows={all}
            columns={[...columns, buttons]}
            idOf={({ credential_id }) => credential_id}
            empty={<Empty what={text.credentials.empty} />}
          />
        )}
      </Loaded>
      <Dialog isOpen={isAdding} onClose={() => add(false)} title={text.credentials.add}>
        <Issue user={of} onDone={() => add(false)} />
      </Dialog>
      {asked?.what === 'rotate' && <Rotate {...asked} onClose={() => ask(null)} />}
      {asked?.what === 'revoke' && <Revoke {...asked} onClose={() => ask(null)} />}
    </Section>
  )
}

interface AskedProps {
  readonly credential: Credential
  readonly onClose: () => void
}

const pathOf = ({ user_id, credential_id: cred_id }: Credential) => ({ user_id, cred_id })

function Rotate({ credential, onClose }: AskedProps) {
  const rotate = useMutation({
    mutationFn: () =>
      call('POST /v1/users/{user_id}/credentials/{cred_id}/rotate', { path: pathOf(credential) })
  })
  const title = text.credentials.rotateTitle(nameOf(credential))
  if (rotate.data)
    return (
      <Dialog isOpen onClose={onClose} title={text.credentials.rotate}>
        <Secret name={nameOf(credential)} value={rotate.data.token} onDone={onClose} />
      </Dialog>
    )
  return (
    <Confirm
      isOpen
      onClose={onClose}
      title={title}
      does={text.credentials.rotate}
      isBusy={rotate.isPending}
      onConfirm={() => rotate.mutate()}
    >
      <Text>{text.credentials.rotateText}</Text>
    </Confirm>
  )
}

function Revoke({ credential, onClose }: AskedProps) {
  const revoke = useMutation({
    mutationFn: () => call('DELETE /v1/users/{user_id}/credentials/{cred_id}', { path: pathOf(credential) }),
    onSuccess: () => {
      notify(text.credentials.revoked)
      onClose()
    }
  })
  return (
    <Confirm
      isOpen
      onClose={onClose}
      title={text.credentials.revokeTitle(nameOf(credential))}
      does={text.credentials.revoke}
      isBusy={revoke.isPending}
      onConfirm={() => revoke.mutate()}
    >
      <Text>{text.credentials.revokeText}</Text>
    </Confirm>
  )
}
