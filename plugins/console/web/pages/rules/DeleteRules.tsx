import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { call } from '../../api/call.ts'
import { count } from '../../format.ts'
import { Confirm } from '../../parts/ConfirmDialog.tsx'
import { text } from '../../text/text.ts'
import { nameOf, type Rule } from './queries.ts'

interface Props {
  readonly rules: readonly Rule[]
  readonly isOpen: boolean
  readonly isBusy: boolean
  readonly onClose: () => void
  readonly onConfirm: () => void
}

const named = 5

/** Asks before rules are deleted: says which, and how many live connections go with them. */
export function DeleteRules({ rules, ...dialog }: Props) {
  const [only] = rules
  const title = rules.length === 1 && only ? nameOf(only) : text.rules.count(rules.length)
  return (
    <Confirm {...dialog} title={text.rules.confirmDelete(title)} does={text.rules.delete}>
      {rules.length > 1 && (
        <Text size="sm">
          {rules.slice(0, named).map(nameOf).join(', ')}
          {rules.length > named && ` ${text.rules.andMore(count(rules.length - named))}`}
        </Text>
      )}
      {dialog.isOpen && <Live rules={rules} />}
      <Text>{text.rules.confirmText}</Text>
    </Confirm>
  )
}

const counted = 20 // more are not asked about one by one

function Live({ rules }: { readonly rules: readonly Rule[] }) {
  const ids = rules.slice(0, counted).map(({ rule_id }) => rule_id)
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
        : rules.length > counted
          ? text.rules.liveOfFirst(n, String(counted))
          : text.rules.live(n)}
    </Text>
  )
}
