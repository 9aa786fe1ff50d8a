import { Alert, Group, NativeSelect, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useMemo, useState } from 'react'
import { errorOf } from '../../api/api-error.ts'
import { call } from '../../api/call.ts'
import { notify } from '../../app/notices.ts'
import { count } from '../../format.ts'
import { Confirm } from '../../parts/ConfirmDialog.tsx'
import { Empty } from '../../parts/EmptyState.tsx'
import { Refusal } from '../../parts/FormError.tsx'
import { Table } from '../../parts/table/Table.tsx'
import { text } from '../../text/text.ts'
import { useEdgesById } from '../clients/queries.ts'
import { CloseMany } from './CloseMatching.tsx'
import { columnsOf } from './columns.tsx'
import { type LiveFilter, type LiveRow, maxShown, type Seen, useLive } from './use-live-connections.ts'

const sorts = ['age', 'bytes', 'rate', 'idle'] as const
const idOf = ({ connection_id }: LiveRow): string => connection_id

interface Props {
  readonly fixed: LiveFilter
  readonly tools?: ReactNode
}

/** What is open now, each second anew; one, those that are selected, or all that match can be closed. */
export function Live({ fixed, tools }: Props) {
  const [sort, setSort] = useState<string>('age')
  const { seen, state, error } = useLive(fixed, sort)
  const [closing, setClosing] = useState<LiveRow | null>(null)
  const edges = useEdgesById()
  const close = useClose()
  const columns = useMemo(
    () =>
      columnsOf({
        edgeOf: id => edges.get(id)?.client_name ?? id,
        onClose: setClosing,
        hasRule: fixed.rule_id === undefined
      }),
    [edges, fixed.rule_id]
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
        {Object.keys(fixed).length > 0 && <CloseMany filter={fixed} matched={seen?.matched ?? 0} />}
      </Group>
      <Refusal error={error} />
      {seen && <Silent seen={seen} />}
      {seen && (
        <Table
          name="connections"
          what={text.connections.what}
          rows={seen.rows}
          columns={columns}
          idOf={idOf}
          empty={<Empty what={text.connections.empty} />}
        />
      )}
      <Confirm
        title={text.connections.confirmOne(closing?.source ?? '')}
        does={text.connections.close}
        isOpen={closing !== null}
        isBusy={close.isPending}
        onClose={() => setClosing(null)}
        onConfirm={() => closing && close.mutate(closing, { onSettled: () => setClosing(null) })}
      >
        <Text>{text.connections.confirmText}</Text>
      </Confirm>
    </>
  )
}

/** Of whom nothing is known, and whether there are more than are shown. */
function Silent({ seen: { silent, silentCount, matched } }: { readonly seen: Seen }) {
  return (
    <>
      {silentCount > 0 && (
        <Alert color="orange" variant="default" mb="sm" role="status">
          {text.connections.silent(silent.slice(0, 5).join(', '), count(silentCount))}
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

/** One that has ended meanwhile is no failure. */
function useClose() {
  return useMutation({
    mutationFn: ({ connection_id }: LiveRow) =>
      call('DELETE /v1/connections/{connection_id}', { path: { connection_id } }).catch(thrown => {
        if (errorOf(thrown).code !== 'connection_not_found') throw thrown
      }),
    onSuccess: () => notify(text.connections.closed(count(1)))
  })
}
