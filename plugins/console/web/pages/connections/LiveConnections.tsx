import { Alert, Group, NativeSelect, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useMemo, useState } from 'react'
import { toApiError } from '../../api/api-error.ts'
import { call } from '../../api/call.ts'
import { useRight } from '../../api/rights.ts'
import { notify } from '../../app/notices.ts'
import { count } from '../../format.ts'
import { ConfirmDialog } from '../../parts/dialog/ConfirmDialog.tsx'
import { FormError } from '../../parts/form/FormError.tsx'
import { Table } from '../../parts/table/Table.tsx'
import { text } from '../../text/text.ts'
import { useClientsById } from '../clients/queries.ts'
import { CloseMatching } from './CloseMatching.tsx'
import { connectionColumns } from './connection-columns.tsx'
import {
  type LiveFilter,
  type LiveRow,
  type LiveView,
  maxShown,
  useLiveConnections
} from './use-live-connections.ts'

const sorts = ['age', 'bytes', 'rate', 'idle'] as const
const idOf = ({ connection_id }: LiveRow): string => connection_id

interface Props {
  readonly filter: LiveFilter
  readonly tools?: ReactNode
}

/** Open connections, updated each second. The user can close one of them or all that match. */
export function LiveConnections({ filter, tools }: Props) {
  const [sort, setSort] = useState<string>('age')
  const { seen, state, error } = useLiveConnections(filter, sort)
  const [closing, setClosing] = useState<LiveRow | null>(null)
  const clients = useClientsById()
  const close = useClose()
  const mayClose = useRight('changesRules')
  const columns = useMemo(
    () =>
      connectionColumns({
        clientOf: id => clients.get(id)?.client_name ?? id,
        ...(mayClose && { onClose: setClosing }),
        hasRule: filter.rule_id === undefined
      }),
    [clients, filter.rule_id, mayClose]
  )
  return (
    <>
      <Group mb="sm" gap="sm" className="tools">
        {tools}
        <NativeSelect
          aria-label={text.connections.sort}
          value={sort}
          onChange={event => setSort(event.currentTarget.value)}
          data={sorts.map(value => ({ value, label: text.connections.sorts[value] }))}
        />
        <Text size="sm" role="status" {...(state !== 'live' && { c: 'dimmed' })}>
          {error !== null ? '' : seen === null ? text.loading : text.connections.matched(count(seen.matched))}
        </Text>
        {mayClose && Object.keys(filter).length > 0 && (
          <CloseMatching filter={filter} matched={seen?.matched ?? 0} />
        )}
      </Group>
      <FormError error={error} />
      {seen && <Incomplete seen={seen} />}
      {seen && (
        <Table
          name="connections"
          what={text.connections.what}
          rows={seen.rows}
          columns={columns}
          idOf={idOf}
          empty={text.connections.empty}
        />
      )}
      <ConfirmDialog
        title={text.connections.confirmOne(closing?.source ?? '')}
        action={text.connections.close}
        isOpen={closing !== null}
        isBusy={close.isPending}
        onClose={() => setClosing(null)}
        onConfirm={() => closing && close.mutate(closing, { onSettled: () => setClosing(null) })}
      >
        <Text>{text.connections.confirmText}</Text>
      </ConfirmDialog>
    </>
  )
}

/** Warns about clients that do not respond, and about a cut list. */
function Incomplete({ seen: { silentClients, silentCount, matched } }: { readonly seen: LiveView }) {
  return (
    <>
      {silentCount > 0 && (
        <Alert color="orange" variant="default" mb="sm" role="status">
          {text.connections.silent(silentClients.slice(0, 5).join(', '), count(silentCount))}
        </Alert>
      )}
      {matched > maxShown && (
        <Text size="sm" c="dimmed" mb="sm">
          {text.connections.first(String(maxShown))}
        </Text>
      )}
    </>
  )
}

/** A connection that already ended counts as closed. */
function useClose() {
  return useMutation({
    mutationFn: ({ connection_id }: LiveRow) =>
      call('DELETE /v1/connections/{connection_id}', { path: { connection_id } }).catch(thrown => {
        if (toApiError(thrown).code !== 'connection_not_found') throw thrown
      }),
    onSuccess: () => notify(text.connections.closed(count(1)))
  })
}
