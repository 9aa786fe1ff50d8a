import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { call, type Row, rows } from '../../api/call.ts'
import { count } from '../../format.ts'
import { ConfirmAction } from '../../parts/dialog/ConfirmAction.tsx'
import { text } from '../../text/text.ts'
import { type Grant, nameOf } from './grant-columns.tsx'

function isWithin(rule: Row<'GET /v1/rules'>, grant: Grant): boolean {
  const { client_id, listen_port_start, listen_port_end } = grant
  const isFor = (ids: string): boolean => client_id === '*' || ids.includes(client_id)
  if (listen_port_start === null || listen_port_end === null)
    return isFor(JSON.stringify([rule.via, rule.targets]))
  return (
    isFor(JSON.stringify([rule.client_id, rule.edges])) &&
    rule.listen_port >= listen_port_start &&
    rule.listen_port <= listen_port_end
  )
}

/** Counts the rules of the user within the grant. The server keeps those that another grant allows. */
export function DeleteGrant({ grant, onClose }: { readonly grant: Grant; readonly onClose: () => void }) {
  const { grant_id, user_id } = grant
  const rules = useQuery({
    queryKey: ['rules-within', grant_id],
    queryFn: async () =>
      (await rows('GET /v1/rules', { query: { owner: user_id } })).filter(rule => isWithin(rule, grant))
        .length
  })
  const maxDeleted = rules.data === undefined ? '…' : count(rules.data)
  return (
    <ConfirmAction
      title={text.grants.deleteTitle(nameOf(grant))}
      action={text.delete}
      run={() => call('DELETE /v1/grants/{grant_id}', { path: { grant_id } })}
      notice={({ removed_rule_ids }) => text.grants.deleted(count(removed_rule_ids.length))}
      onClose={onClose}
    >
      <Text role="status">{text.grants.deleteText(maxDeleted)}</Text>
    </ConfirmAction>
  )
}
