import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { call } from '../../api/call.ts'
import { count } from '../../format.ts'
import { ConfirmDialog } from '../../parts/dialog/ConfirmDialog.tsx'
import { text } from '../../text/text.ts'
import { nameOf, type Rule } from './queries.ts'

interface Props {
  readonly rules: readonly Rule[]
  readonly isOpen: boolean
  readonly isBusy: boolean
  readonly onClose: () => void
  readonly onConfirm: () => void
}

const maxNamed = 5

/** Confirms a deletion, with the names of the rules and the number of open connections. */
export function DeleteRules({ rules, ...dialog }: Props) {
  const [only] = rules
  const title = rules.length === 1 && only ? nameOf(only) : text.rules.count(rules.length)
  return (
    <ConfirmDialog {...dialog} title={text.rules.confirmDelete(title)} action={text.rules.delete}>
      {rules.length > 1 && (
        <Text size="sm">
          {rules.slice(0, maxNamed).map(nameOf).join(', ')}
          {rules.length > maxNamed && ` ${text.rules.andMore(count(rules.length - maxNamed))}`}
        </Text>
      )}
      {dialog.isOpen && <OpenConnections rules={rules} />}
      <Text>{text.rules.confirmText}</Text>
    </ConfirmDialog>
  )
}

const maxCounted = 20 // each rule costs a request

function OpenConnections({ rules }: { readonly rules: readonly Rule[] }) {
  const ids = rules.slice(0, maxCounted).map(({ rule_id }) => rule_id)
  const live = useQuery({
    queryKey: ['live-count', ids],
    refetchInterval: false,
    queryFn: async () => {
      const counts = await Promise.all(
        ids.map(rule_id => call('DELETE /v1/connections', { query: { rule_id, dry_run: true } }))
      )
      return counts.reduce((sum, { matched }) => sum + matched, 0)
    }
  })
  const n = live.data === undefined ? '…' : count(live.data)
  return (
    <Text fw={600} role="status">
      {live.isError
        ? text.rules.liveUnknown
        : rules.length > maxCounted
          ? text.rules.liveOfFirst(n, String(maxCounted))
          : text.rules.live(n)}
    </Text>
  )
}
