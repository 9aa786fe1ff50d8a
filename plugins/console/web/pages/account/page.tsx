import { Group, type MantineColorScheme, NativeSelect, Text, useMantineColorScheme } from '@mantine/core'
import { lazy, Suspense } from 'react'
import { type Me, useMe } from '../../api/me.ts'
import { hasRight } from '../../api/rights.ts'
import { DialogButton } from '../../parts/dialog/DialogButton.tsx'
import { toOptions } from '../../parts/form/to-options.ts'
import { PageHead } from '../../parts/page/PageHead.tsx'
import { PageLink } from '../../parts/page/PageLink.tsx'
import { Section } from '../../parts/page/Section.tsx'
import { chooseLanguage, type Language, language, languages, text } from '../../text/text.ts'
import { Identities } from '../users/Identities.tsx'
import { UserLimits } from '../users/UserLimits.tsx'
import { OwnGrants } from './OwnGrants.tsx'
import { SecondFactor } from './SecondFactor.tsx'
import { Sessions } from './Sessions.tsx'
import { Tokens } from './Tokens.tsx'

const NewPassword = lazy(() => import('../../app/forms/NewPassword.tsx'))

export default function AccountPage() {
  const me = useMe().data
  return me ? <AccountSections me={me} /> : null // the gate renders no page before it knows the user
}

function AccountSections({ me }: { readonly me: Me }) {
  const isTenant = !hasRight(me, 'seesAll')
  return (
    <>
      <PageHead title={text.pages.account}>
        <DialogButton label={text.changePassword} title={text.password.title}>
          {close => (
            <Suspense>
              <NewPassword me={me} onDone={close} />
            </Suspense>
          )}
        </DialogButton>
      </PageHead>
      <Text fw={600}>{me.display_name}</Text>
      <Text c="dimmed">{text.accountPage.who(me.user_id, text.users.roles[me.role])}</Text>
      <Appearance />
      {isTenant && <OwnGrants />}
      {isTenant && <UserLimits user={me.user_id} mayChange={false} />}
      <SecondFactor user={me.user_id} />
      <Identities user={me.user_id} isSelf mayChange />
      <Sessions />
      <Tokens user={me.user_id} mayChange />
      <PageLink to="/device">{text.pages.device}</PageLink>
    </>
  )
}

function Appearance() {
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  return (
    <Section title={text.accountPage.appearance}>
      <Group>
        <NativeSelect
          label={text.theme.title}
          data={(['auto', 'light', 'dark'] as const).map(value => ({ value, label: text.theme[value] }))}
          value={colorScheme}
          onChange={event => setColorScheme(event.currentTarget.value as MantineColorScheme)}
        />
        <NativeSelect
          label={text.language}
          data={toOptions(languages)}
          value={language}
          onChange={event => chooseLanguage(event.currentTarget.value as Language)}
        />
      </Group>
    </Section>
  )
}
