import { Button, Text } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { call } from '../../api/call.ts'
import { notify } from '../../app/notices.ts'
import { count } from '../../format.ts'
import { ConfirmAction } from '../../parts/dialog/ConfirmAction.tsx'
import { DialogButton } from '../../parts/dialog/DialogButton.tsx'
import { text } from '../../text/text.ts'
import { isOn } from '../rules/filters.ts'
import { useRules } from '../rules/queries.ts'
import { EditClient } from './EditClient.tsx'
import { EnrollmentCommand } from './EnrollmentCommand.tsx'
import type { Client } from './queries.ts'

/** Buttons on the page of a client, for those who manage clients. */
export function ClientActions({ client }: { readonly client: Client }) {
  const [dialog, setDialog] = useState<'revoke' | 'delete' | null>(null)
  const close = (): void => setDialog(null)
  const name = client.client_name
  const end = client.state === 'revoked' ? 'delete' : 'revoke' // only a revoked client can be deleted
  return (
    <>
      {client.state === 'pending' && <Approve client={client} />}
      <DialogButton label={text.clients.edit} title={text.clients.editTitle(name)}>
        {done => <EditClient client={client} onDone={done} />}
      </DialogButton>
      <DialogButton label={text.clients.renew} title={text.clients.renewTitle(name)} dialogSize="lg">
        {() => <Renew client={client} />}
      </DialogButton>
      <Button variant="default" c="var(--bad)" onClick={() => setDialog(end)}>
        {text.clients[end]}
      </Button>
      <RevokeClient client={client} isOpen={dialog === 'revoke'} onClose={close} />
      <DeleteClient client={client} isOpen={dialog === 'delete'} onClose={close} />
    </>
  )
}

function Approve({ client: { client_id, client_name } }: { readonly client: Client }) {
  const approve = useMutation({
    mutationFn: () => call('POST /v1/clients/{client_id}/approve', { path: { client_id } }),
    onSuccess: () => notify(text.clients.approved(client_name))
  })
  return (
    <Button loading={approve.isPending} onClick={() => approve.mutate()}>
      {text.clients.approve}
    </Button>
  )
}

interface EndProps {
  readonly client: Client
  readonly isOpen: boolean
  readonly onClose: () => void
}

/** One dialog per action, so that its text does not change while it closes. */
function RevokeClient({ client, ...dialog }: EndProps) {
  const path = { client_id: client.client_id }
  return (
    <ConfirmAction
      {...dialog}
      title={text.clients.confirmRevoke(client.client_name)}
      action={text.clients.revoke}
      run={() => call('POST /v1/clients/{client_id}/revoke', { path })}
    >
      <AffectedCounts client={client} />
      <Text>{text.clients.revokeText}</Text>
    </ConfirmAction>
  )
}

function DeleteClient({ client, ...dialog }: EndProps) {
  const [, go] = useLocation()
  const path = { client_id: client.client_id }
  return (
    <ConfirmAction
      {...dialog}
      title={text.clients.confirmDelete(client.client_name)}
      action={text.clients.delete}
      run={() => call('DELETE /v1/clients/{client_id}', { path })}
      notice={text.clients.deleted(client.client_name)}
      onDone={() => go('/clients')}
    >
      <AffectedCounts client={client} />
      <Text>{text.clients.deleteText}</Text>
    </ConfirmAction>
  )
}

/** Number of rules and open connections of a client. */
function AffectedCounts({ client: { client_id, connected } }: { readonly client: Client }) {
  const rules = useRules()
  const live = useQuery({
    queryKey: ['live-count', client_id],
    queryFn: () => call('DELETE /v1/connections', { query: { client: client_id, dry_run: true } }),
    enabled: connected,
    refetchInterval: false
  })
  const ruleCount = rules.data?.filter(rule => isOn(rule, client_id)).length
  return (
    <Text fw={600} role="status">
      {text.rules.count(ruleCount ?? 0)}
      {connected &&
        ` · ${live.isError ? text.rules.liveUnknown : text.rules.live(live.data ? count(live.data.matched) : '…')}`}
    </Text>
  )
}

/** Creates a command that gives the client a new token. The old token is valid until the command runs. */
function Renew({ client }: { readonly client: Client }) {
  const [before] = useState(client)
  const renew = useMutation({
    mutationFn: async () => ({
      ...(await call('POST /v1/clients/{client_id}/enrollment', {
        path: { client_id: client.client_id },
        body: {}
      })),
      createdAt: Date.now()
    })
  })
  if (renew.data) return <EnrollmentCommand enrollment={renew.data} client={before} onRetry={renew.reset} />
  return (
    <>
      <Text mb="md">{text.clients.renewText}</Text>
      <Button loading={renew.isPending} onClick={() => renew.mutate()}>
        {text.clients.submit}
      </Button>
    </>
  )
}
