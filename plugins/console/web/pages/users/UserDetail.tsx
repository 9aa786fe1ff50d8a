import { Text } from '@mantine/core'
import { toApiError } from '../../api/api-error.ts'
import { useMe } from '../../api/me.ts'
import { useRight } from '../../api/rights.ts'
import { Facts } from '../../parts/Facts.tsx'
import { labelText } from '../../parts/form/labels.ts'
import { MissingRecord } from '../../parts/page/MissingRecord.tsx'
import { PageHead } from '../../parts/page/PageHead.tsx'
import { PageLink } from '../../parts/page/PageLink.tsx'
import { Section } from '../../parts/page/Section.tsx'
import { QueryResult } from '../../parts/QueryResult.tsx'
import { Timestamp } from '../../parts/Timestamp.tsx'
import { text } from '../../text/text.ts'
import { Sessions } from '../account/Sessions.tsx'
import { Tokens } from '../account/Tokens.tsx'
import { UserQuotas } from '../quotas/UserQuotas.tsx'
import { factorsText } from './factors-text.ts'
import { Identities } from './Identities.tsx'
import { type User, useUser } from './queries.ts'
import { UserActions } from './UserActions.tsx'
import { UserGrants } from './UserGrants.tsx'
import { UserLimits } from './UserLimits.tsx'
import { UserState } from './user-columns.tsx'

export function UserDetail({ id }: { readonly id: string }) {
  const user = useUser(id)
  const me = useMe().data?.user_id
  const managesAll = useRight('managesAll')
  const managesUsers = useRight('managesUsers')
  if (user.isError && toApiError(user.error).status === 404)
    return <MissingRecord title={text.pages.users} to="/users" what={text.users.none} />
  return (
    <>
      <PageLink to="/users">{text.pages.users}</PageLink>
      <QueryResult query={user}>
        {read => (
          <>
            <PageHead title={id}>{managesUsers && <UserActions read={read} isSelf={id === me} />}</PageHead>
            <UserFacts user={read.value} />
            <UserGrants user={id} role={read.value.role} />
            <UserQuotas user={id} />
            <UserLimits user={id} mayChange={managesAll} />
            <Tokens user={id} mayChange={managesUsers || id === me} />
            {read.value.kind === 'user' && (
              <Identities user={id} isSelf={id === me} mayChange={managesUsers || id === me} />
            )}
            {read.value.kind === 'user' && <UserSessions isSelf={id === me} />}
          </>
        )}
      </QueryResult>
    </>
  )
}

const UserSessions = ({ isSelf }: { readonly isSelf: boolean }) =>
  isSelf ? (
    <Sessions />
  ) : (
    <Section title={text.sessions.title}>
      <Text>{text.users.sessionsText}</Text>
    </Section>
  )

const UserFacts = ({ user }: { readonly user: User }) => (
  <Facts
    facts={[
      { name: text.users.name, value: user.display_name },
      {
        name: text.users.role,
        value: user.role_source
          ? text.users.roleFrom(text.users.roles[user.role], user.role_source.replace('oidc:', ''))
          : text.users.roles[user.role]
      },
      { name: text.users.kind, value: text.users.kinds[user.kind] },
      { name: text.users.state, value: <UserState user={user} /> },
      {
        name: text.secondFactor.title,
        value: factorsText(user.second_factors ?? []) || text.secondFactor.noneShort
      },
      { name: text.labels.title, value: labelText(user.labels) || text.labels.none },
      { name: text.users.created, value: <Timestamp at={user.created_at} /> },
      { name: text.users.rules, value: user.rule_count, to: `/rules?owner=${user.user_id}` },
      { name: text.users.traffic, value: text.traffic.ranges.day, to: `/traffic?user=${user.user_id}` },
      { name: text.pages.audit, value: text.users.audit, to: `/audit?actor=${user.user_id}` }
    ]}
  />
)
