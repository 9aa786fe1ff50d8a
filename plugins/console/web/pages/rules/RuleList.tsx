import { Button } from '@mantine/core'
import { useMemo } from 'react'
import { Link } from 'wouter'
import { toApiError } from '../../api/api-error.ts'
import { useRight } from '../../api/rights.ts'
import { EmptyState } from '../../parts/EmptyState.tsx'
import { PageHead } from '../../parts/page/PageHead.tsx'
import { QueryResult } from '../../parts/QueryResult.tsx'
import { Table } from '../../parts/table/Table.tsx'
import { text } from '../../text/text.ts'
import { type ClientsById, useClientsById } from '../clients/queries.ts'
import { BulkActions } from './BulkActions.tsx'
import { type FilterValues, filterRules, useFilters } from './filters.ts'
import { type Rule, useRules } from './queries.ts'
import { RuleFilters } from './RuleFilters.tsx'
import { ruleColumns } from './rule-columns.tsx'
import { useRuleRates } from './use-rule-rates.ts'

const idOf = ({ rule_id }: Rule): string => rule_id

const bulkActions = (selected: readonly Rule[], done: () => void) => (
  <BulkActions rules={selected} onDone={done} />
)

export function RuleList() {
  const { filter: filters, set, clear } = useFilters()
  const rules = useRules(filters.selector)
  const clients = useClientsById()
  const rates = useRuleRates()
  const columns = useMemo(() => ruleColumns(clients, rates), [clients, rates])
  const rows = useFiltered(rules.data, filters, clients)
  const isFiltered = Object.entries(filters).some(([name, value]) => name !== 'q' && value !== '')
  const isRefused = rules.isError && toApiError(rules.error).code === 'validation.selector'
  const mayChange = useRight('changesRules')
  const add = mayChange && (
    <Button component={Link} href="/rules/new">
      {text.rules.add}
    </Button>
  )
  const none = isFiltered ? (
    <EmptyState what={text.rules.noMatch}>
      <Button variant="default" onClick={clear}>
        {text.rules.showAll}
      </Button>
    </EmptyState>
  ) : (
    <EmptyState what={text.rules.empty}>{add}</EmptyState>
  )
  return (
    <>
      <PageHead title={text.pages.rules}>{add}</PageHead>
      {(isFiltered || rows.length > 0) && (
        <RuleFilters
          filters={filters}
          onChange={set}
          clients={clients}
          error={isRefused ? rules.error : null}
        />
      )}
      {!isRefused && (
        <QueryResult query={rules}>
          {() => (
            <Table
              name="rules"
              what={text.rules.what}
              rows={rows}
              columns={columns}
              idOf={idOf}
              search={[filters.q, words => set('q', words)]}
              empty={none}
              {...(mayChange && { actions: bulkActions })}
            />
          )}
        </QueryResult>
      )}
    </>
  )
}

function useFiltered(
  rules: readonly Rule[] | undefined,
  filters: FilterValues,
  clients: ClientsById
): readonly Rule[] {
  const { state, client, owner, targets, link } = filters
  return useMemo(
    () => filterRules(rules ?? [], { state, client, owner, targets, link }, clients),
    [rules, state, client, owner, targets, link, clients]
  )
}
