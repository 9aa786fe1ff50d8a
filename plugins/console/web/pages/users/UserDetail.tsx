import { Anchor, Text } from '@mantine/core'
import { Link } from 'wouter'
import { toApiError } from '../../api/api-error.ts'
import { useMe } from '../../api/me.ts'
import { EmptyState } from '../../parts/EmptyState.tsx'
import { Fact, Facts } from '../../parts/Facts.tsx'
import { labelText } from '../../parts/form/labels.ts'
import { PageHead } from '../../parts/PageHead.tsx'
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
      <Anchor component={Link} href="/users" size="sm">
        {text.pages.users}
      </Anchor>
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
      <Anchor component={Link} href="/users">
        {text.pages.users}
      </Anchor>
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
      <Anchor component={Link} href={`/rules?owner=${user.user_id}`}>
        {user.rule_count}
      </Anchor>
    </Fact>
    <Fact name={text.users.traffic}>
      <Anchor component={Link} href={`/traffic?user=${user.user_id}`}>
        {text.traffic.ranges.day}
      </Anchor>
    </Fact>
    <Fact name={text.pages.audit}>
      <Anchor component={Link} href={`/audit?actor=${user.user_id}`}>
        {text.users.audit}
      </Anchor>
    </Fact>
  </Facts>
)
