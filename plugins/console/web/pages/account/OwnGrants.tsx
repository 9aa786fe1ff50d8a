import { useQuery } from '@tanstack/react-query'
import { rows } from '../../api/call.ts'
import { Section } from '../../parts/page/Section.tsx'
import { QueryTable } from '../../parts/table/QueryTable.tsx'
import { text } from '../../text/text.ts'
import { grantColumns } from '../users/grant-columns.tsx'

export function OwnGrants() {
  const grants = useQuery({ queryKey: ['grants', 'me'], queryFn: () => rows('GET /v1/users/me/grants') })
  return (
    <Section title={text.accountPage.grants}>
      <QueryTable
        query={grants}
        name="own-grants"
        what={text.grants.what}
        columns={grantColumns}
        idOf={({ grant_id }) => grant_id}
        empty={text.grants.emptyOwn}
      />
    </Section>
  )
}
