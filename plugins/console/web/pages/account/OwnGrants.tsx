import { useQuery } from '@tanstack/react-query'
import { rows } from '../../api/call.ts'
import { Empty } from '../../parts/EmptyState.tsx'
import { Loaded } from '../../parts/QueryResult.tsx'
import { Section } from '../../parts/Section.tsx'
import { Table } from '../../parts/table/Table.tsx'
import { text } from '../../text/text.ts'
import { columns } from '../users/grant-columns.tsx'

export function OwnGrants() {
  const grants = useQuery({ queryKey: ['grants', 'me'], queryFn: () => rows('GET /v1/users/me/grants') })
  return (
    <Section title={text.accountPage.mayUse}>
      <Loaded query={grants}>
        {all => (
          <Table
            name="own-grants"
            what={text.grants.what}
            rows={all}
            columns={columns}
            idOf={({ grant_id }) => grant_id}
            empty={<Empty what={text.grants.emptyOwn} />}
          />
        )}
      </Loaded>
    </Section>
  )
}
