import { Button, type MantineColorScheme, Menu, useMantineColorScheme } from '@mantine/core'
import type { Me } from '../api/me.ts'
import { Icon } from '../parts/Icon.tsx'
import { chooseLanguage, type Language, language, languages, text } from '../text/text.ts'
import { useSignOut } from './use-sign-out.ts'

const themes: readonly MantineColorScheme[] = ['auto', 'light', 'dark']
const person = 'M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM4 20c1-4 4-6 8-6s7 2 8 6'

interface Props {
  readonly me: Me
  readonly onPassword: () => void
  readonly onKeys: () => void
}

export default function AccountMenu({ me, onPassword, onKeys }: Props) {
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const signOut = useSignOut()
  return (
    <Menu position="bottom-end" width={220}>
      <Menu.Target>
        <Button variant="default" aria-label={text.account(me.display_name)} px="xs">
          <Icon path={person} />
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{me.display_name}</Menu.Label>
        <Menu.Item onClick={onPassword}>{text.changePassword}</Menu.Item>
        <Menu.Item onClick={onKeys}>{text.keys.title}</Menu.Item>
        <Menu.Item onClick={() => signOut.mutate()}>{text.signOut}</Menu.Item>
        <Menu.Divider />
        <Menu.Label>{text.theme.title}</Menu.Label>
        {themes.map(theme => (
          <Menu.Item
            key={theme}
            role="menuitemradio"
            aria-checked={theme === colorScheme}
            rightSection={theme === colorScheme && '✓'}
            onClick={() => setColorScheme(theme)}
          >
            {text.theme[theme]}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Label>{text.language}</Menu.Label>
        {(Object.keys(languages) as Language[]).map(name => (
          <Menu.Item
            key={name}
            role="menuitemradio"
            aria-checked={name === language}
            rightSection={name === language && '✓'}
            lang={name}
            onClick={() => chooseLanguage(name)}
          >
            {languages[name]}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}
