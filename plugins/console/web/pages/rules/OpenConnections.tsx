import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { call } from '../../api/call.ts'
import { count } from '../../format.ts'
import { text } from '../../text/text.ts'
import type { Rule } from './queries.ts'

const maxCounted = 20 // each rule costs a request

/** The number of open connections of the rules, counted once. */
export function OpenConnections({ rules }: { readonly rules: readonly Rule[] }) {
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
