import { useQuery } from '@tanstack/react-query'
import { rows } from '../../api/call.ts'
import { EmptyState } from '../../parts/EmptyState.tsx'
import { QueryResult } from '../../parts/QueryResult.tsx'
import { Section } from '../../parts/Section.tsx'
import { Table } from '../../parts/table/Table.tsx'
import { text } from '../../text/text.ts'
import { grantColumns } from '../users/grant-columns.tsx'

export function OwnGrants() {
  const grants = useQuery({ queryKey: ['grants', 'me'], queryFn: () => rows('GET /v1/users/me/grants') })
  return (
    <Section title={text.accountPage.grants}>
      <QueryResult query={grants}>
        {all => (
          <Table
            name="own-grants"
            what={text.grants.what}
            rows={all}
            columns={grantColumns}
            idOf={({ grant_id }) => grant_id}
            empty={<EmptyState what={text.grants.emptyOwn} />}
          />
        )}
      </QueryResult>
    </Section>
  )
}
