import { Button } from '@mantine/core'
import { useMemo } from 'react'
import { Link } from 'wouter'
import { errorOf } from '../../api/api-error.ts'
import { Empty } from '../../parts/EmptyState.tsx'
import { Head } from '../../parts/PageHead.tsx'
import { Loaded } from '../../parts/QueryResult.tsx'
import { Table } from '../../parts/table/Table.tsx'
import { text } from '../../text/text.ts'
import { type EdgesById, useEdgesById } from '../clients/queries.ts'
import { Actions } from './BulkActions.tsx'
import { columnsOf } from './columns.tsx'
import { chosen, type Filters, useFilters } from './filters.ts'
import { type Rule, useRules } from './queries.ts'
import { FilterTools } from './RuleFilters.tsx'

const idOf = ({ rule_id }: Rule): string => rule_id

export function List() {
  const { filters, set, clear } = useFilters()
  const rules = useRules(filters.selector)
  const edges = useEdgesById()
  const columns = useMemo(() => columnsOf(edges), [edges])
  const rows = useChosen(rules.data, filters, edges)
  const isFiltered = Object.entries(filters).some(([name, value]) => name !== 'q' && value !== '')
  const isRefused = rules.isError && errorOf(rules.error).code === 'validation.selector'
  const add = (
    <Button component={Link} href="/rules/new">
      {text.rules.add}
    </Button>
  )
  const none = isFiltered ? (
    <Empty what={text.rules.noneChosen}>
      <Button variant="default" onClick={clear}>
        {text.rules.showAll}
      </Button>
    </Empty>
  ) : (
    <Empty what={text.rules.empty}>{add}</Empty>
  )
  return (
    <>
      <Head title={text.pages.rules}>{add}</Head>
      {(isFiltered || rows.length > 0) && (
        <FilterTools {...{ filters, set, edges }} error={isRefused ? rules.error : null} />
      )}
      {!isRefused && (
        <Loaded query={rules}>
          {() => (
            <Table
              name="rules"
              what={text.rules.what}
              rows={rows}
              columns={columns}
              idOf={idOf}
              search={[filters.q, words => set('q', words)]}
              empty={none}
              actions={(selected, done) => <Actions rules={selected} onDone={done} />}
            />
          )}
        </Loaded>
      )}
    </>
  )
}

function useChosen(rules: readonly Rule[] | undefined, filters: Filters, edges: EdgesById): readonly Rule[] {
  const { state, edge, owner, targets } = filters
  return useMemo(
    () => chosen(rules ?? [], { state, edge, owner, targets }, edges),
    [rules, state, edge, owner, targets, edges]
  )
}
