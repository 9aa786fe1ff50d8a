import { Text } from '@mantine/core'
import { toApiError } from '../../api/api-error.ts'
import { useMe } from '../../api/me.ts'
import { EmptyState } from '../../parts/EmptyState.tsx'
import { Fact, Facts } from '../../parts/Facts.tsx'
import { labelText } from '../../parts/form/labels.ts'
import { PageHead } from '../../parts/PageHead.tsx'
import { PageLink } from '../../parts/PageLink.tsx'
import { QueryResult } from '../../parts/QueryResult.tsx'
import { Section } from '../../parts/Section.tsx'
import { Timestamp } from '../../parts/Timestamp.tsx'
import { text } from '../../text/text.ts'
import { Sessions } from '../account/Sessions.tsx'
import { Tokens } from '../account/Tokens.tsx'
import { UserQuotas } from '../quotas/UserQuotas.tsx'
import { type User, useUser } from './queries.ts'
import { UserActions } from './UserActions.tsx'
import { UserGrants } from './UserGrants.tsx'
import { UserLimits } from './UserLimits.tsx'
import { UserState } from './user-columns.tsx'

export function UserDetail({ id }: { readonly id: string }) {
  const user = useUser(id)
  const me = useMe().data?.user_id
  if (user.isError && toApiError(user.error).status === 404) return <Missing />
  return (
    <>
      <PageLink to="/users">{text.pages.users}</PageLink>
      <QueryResult query={user}>
        {read => (
          <>
            <PageHead title={id}>
              <UserActions read={read} isSelf={id === me} />
            </PageHead>
            <UserFacts user={read.value} />
            <UserGrants user={id} role={read.value.role} />
            <UserQuotas user={id} />
            <UserLimits user={id} mayChange />
            <Tokens user={id} />
            {id === me ? (
              <Sessions />
            ) : (
              <Section title={text.sessions.title}>
                <Text>{text.users.sessionsText}</Text>
              </Section>
            )}
          </>
        )}
      </QueryResult>
    </>
  )
}

const Missing = () => (
  <>
    <PageHead title={text.pages.users} />
    <EmptyState what={text.users.none}>
      <PageLink to="/users" size="md">
        {text.pages.users}
      </PageLink>
    </EmptyState>
  </>
)

const UserFacts = ({ user }: { readonly user: User }) => (
  <Facts>
    <Fact name={text.users.name}>{user.display_name}</Fact>
    <Fact name={text.users.role}>{text.users.roles[user.role]}</Fact>
    <Fact name={text.users.state}>
      <UserState user={user} />
    </Fact>
    <Fact name={text.labels.title}>{labelText(user.labels) || text.labels.none}</Fact>
    <Fact name={text.users.created}>
      <Timestamp at={user.created_at} />
    </Fact>
    <Fact name={text.users.rules}>
      <PageLink to={`/rules?owner=${user.user_id}`} size="md">
        {user.rule_count}
      </PageLink>
    </Fact>
    <Fact name={text.users.traffic}>
      <PageLink to={`/traffic?user=${user.user_id}`} size="md">
        {text.traffic.ranges.day}
      </PageLink>
    </Fact>
    <Fact name={text.pages.audit}>
      <PageLink to={`/audit?actor=${user.user_id}`} size="md">
        {text.users.audit}
      </PageLink>
    </Fact>
  </Facts>
)
