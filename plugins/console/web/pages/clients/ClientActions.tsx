import { Button, Text } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { call } from '../../api/call.ts'
import { notify } from '../../app/notices.ts'
import { count } from '../../format.ts'
import { Confirm } from '../../parts/ConfirmDialog.tsx'
import { Dialog } from '../../parts/Dialog.tsx'
import { text } from '../../text/text.ts'
import { isOn } from '../rules/filters.ts'
import { useRules } from '../rules/queries.ts'
import { EditEdge } from './EditClient.tsx'
import { Invited } from './EnrollmentCommand.tsx'
import type { Edge } from './queries.ts'

/** What a superadmin can do to an edge. */
export function Buttons({ edge }: { readonly edge: Edge }) {
  const [asks, ask] = useState<'edit' | 'renew' | End | null>(null)
  const close = (): void => ask(null)
  const name = edge.client_name
  const end = edge.state === 'revoked' ? 'delete' : 'revoke'
  return (
    <>
      <Button variant="default" onClick={() => ask('edit')}>
        {text.edges.edit}
      </Button>
      <Button variant="default" onClick={() => ask('renew')}>
        {text.edges.renew}
      </Button>
      <Button variant="default" c="var(--bad)" onClick={() => ask(end)}>
        {text.edges[end]}
      </Button>
      <Dialog isOpen={asks === 'edit'} onClose={close} title={text.edges.editTitle(name)}>
        <EditEdge edge={edge} onDone={close} />
      </Dialog>
      <Dialog isOpen={asks === 'renew'} onClose={close} title={text.edges.renewTitle(name)} size="lg">
        <Renew edge={edge} />
      </Dialog>
      <AskEnd what="revoke" edge={edge} isOpen={asks === 'revoke'} onClose={close} />
      <AskEnd what="delete" edge={edge} isOpen={asks === 'delete'} onClose={close} />
    </>
  )
}

type End = 'revoke' | 'delete' // one that is revoked is deleted

interface EndProps {
  readonly what: End
  readonly edge: Edge
  readonly isOpen: boolean
  readonly onClose: () => void
}

/** Each question is a dialog of its own: none becomes another one while it closes. */
function AskEnd({ what, edge, isOpen, onClose }: EndProps) {
  const [, go] = useLocation()
  const path = { client_id: edge.client_id }
  const revoke = useMutation({
    mutationFn: () => call('POST /v1/clients/{client_id}/revoke', { path }),
    onSuccess: onClose
  })
  const remove = useMutation({
    mutationFn: () => call('DELETE /v1/clients/{client_id}', { path }),
    onSuccess: () => {
      notify(text.edges.deleted(edge.client_name))
      go('/edges')
    }
  })
  const isDelete = what === 'delete'
  return (
    <Confirm
      title={(isDelete ? text.edges.confirmDelete : text.edges.confirmRevoke)(edge.client_name)}
      does={text.edges[what]}
      isOpen={isOpen}
      isBusy={revoke.isPending || remove.isPending}
      onClose={onClose}
      onConfirm={() => (isDelete ? remove : revoke).mutate()}
    >
      <Goes edge={edge} />
      <Text>{isDelete ? text.edges.deleteText : text.edges.revokeText}</Text>
    </Confirm>
  )
}

/** How many rules and live connections an edge has. */
function Goes({ edge: { client_id, connected } }: { readonly edge: Edge }) {
  const rules = useRules()
  const live = useQuery({
    queryKey: ['live-count', client_id],
    queryFn: () => call('DELETE /v1/connections', { query: { client: client_id, dry_run: true } }),
    enabled: connected,
    refetchInterval: false
  })
  const own = rules.data?.filter(rule => isOn(rule, client_id)).length
  return (
    <Text fw={600} role="status">
      {text.rules.count(own ?? 0)}
      {connected &&
        ` · ${live.isError ? text.rules.liveUnknown : text.rules.live(live.data ? count(live.data.matched) : '…')}`}
    </Text>
  )
}

/** A command that gives the edge a new token; the old one holds until it is run. */
function Renew({ edge }: { readonly edge: Edge }) {
  const [before] = useState(edge)
  const renew = useMutation({
    mutationFn: async () => ({
      ...(await call('POST /v1/clients/{client_id}/enrollment', {
        path: { client_id: edge.client_id },
        body: {}
      })),
      askedAt: Date.now()
    })
  })
  if (renew.data) return <Invited invitation={renew.data} edge={before} onAgain={renew.reset} />
  return (
    <>
      <Text mb="md">{text.edges.renewText}</Text>
      <Button loading={renew.isPending} onClick={() => renew.mutate()}>
        {text.edges.submit}
      </Button>
    </>
  )
}
