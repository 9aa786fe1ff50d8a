import { Anchor, Text } from '@mantine/core'
import { Link } from 'wouter'
import { errorOf } from '../../api/api-error.ts'
import { useMe } from '../../api/me.ts'
import { Empty } from '../../parts/EmptyState.tsx'
import { Fact, Facts } from '../../parts/Facts.tsx'
import { labelText } from '../../parts/labels.ts'
import { Head } from '../../parts/PageHead.tsx'
import { Loaded } from '../../parts/QueryResult.tsx'
import { Section } from '../../parts/Section.tsx'
import { When } from '../../parts/Timestamp.tsx'
import { text } from '../../text/text.ts'
import { Sessions } from '../account/Sessions.tsx'
import { Credentials } from '../account/Tokens.tsx'
import { QuotasOf } from '../quotas/UserQuotas.tsx'
import { UserState } from './columns.tsx'
import { type User, useUser } from './queries.ts'
import { Actions } from './UserActions.tsx'
import { Grants } from './UserGrants.tsx'
import { Limits } from './UserLimits.tsx'

export function Detail({ id }: { readonly id: string }) {
  const user = useUser(id)
  const me = useMe().data?.user_id
  if (user.isError && errorOf(user.error).status === 404) return <Missing />
  return (
    <>
      <Anchor component={Link} href="/users" size="sm">
        {text.pages.users}
      </Anchor>
      <Loaded query={user}>
        {read => (
          <>
            <Head title={id}>
              <Actions read={read} isSelf={id === me} />
            </Head>
            <About user={read.value} />
            <Grants of={id} role={read.value.role} />
            <QuotasOf user={id} />
            <Limits user={id} mayChange />
            <Credentials of={id} />
            {id === me ? (
              <Sessions />
            ) : (
              <Section title={text.sessions.title}>
                <Text>{text.users.sessionsText}</Text>
              </Section>
            )}
          </>
        )}
      </Loaded>
    </>
  )
}

const Missing = () => (
  <>
    <Head title={text.pages.users} />
    <Empty what={text.users.none}>
      <Anchor component={Link} href="/users">
        {text.pages.users}
      </Anchor>
    </Empty>
  </>
)

const About = ({ user }: { readonly user: User }) => (
  <Facts>
    <Fact name={text.users.name}>{user.display_name}</Fact>
    <Fact name={text.users.role}>{text.users.roles[user.role]}</Fact>
    <Fact name={text.users.state}>
      <UserState user={user} />
    </Fact>
    <Fact name={text.labels.title}>{labelText(user.labels) || text.labels.none}</Fact>
    <Fact name={text.users.created}>
      <When at={user.created_at} />
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
