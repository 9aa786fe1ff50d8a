import { useCallback, useMemo } from 'react'
import { isUlid } from '../../format.ts'
import { text } from '../../text/text.ts'
import { useClientsById } from '../clients/queries.ts'
import { placeOf, useRules } from '../rules/queries.ts'
import type { Entry } from './use-entries.ts'

export type NameRecord = (entry: Pick<Entry, 'resource_kind' | 'resource_id' | 'rule_name'>) => string

/** Returns a function that names the record of an audit entry. Records without a name that is known have an empty one. */
export function useRecordNames(): NameRecord {
  const clients = useClientsById()
  const { data: rules } = useRules()
  const places = useMemo(() => new Map(rules?.map(rule => [rule.rule_id, placeOf(rule)])), [rules])
  return useCallback(
    ({ resource_kind: kind, resource_id: id, rule_name }) => {
      if (rule_name !== null) return rule_name
      if (id === null) return ''
      if (kind === 'rule' && rules) return places.get(id) ?? text.audit.deleted
      const parts = id.split('/').map(part => clients.get(part)?.client_name ?? part)
      return parts.filter(part => !isUlid(part)).join(', ')
    },
    [clients, rules, places]
  )
}
