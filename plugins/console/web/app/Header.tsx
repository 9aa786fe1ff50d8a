import { AppShell, Burger, Button, Group, Kbd, Text, VisuallyHidden } from '@mantine/core'
import { lazy, Suspense } from 'react'
import type { Me } from '../api/me.ts'
import { Icon } from '../parts/Icon.tsx'
import { text } from '../text/text.ts'
import { modifierKey } from './modifier-key.ts'

// Loaded later, to keep the first page small.
const AccountMenu = lazy(() => import('./AccountMenu.tsx'))

interface Props {
  readonly me: Me
  readonly isMenuOpen: boolean
  readonly onMenu: () => void
  readonly onPalette: () => void
  readonly onPassword: () => void
  readonly onKeys: () => void
}

export const Header = ({ me, isMenuOpen, onMenu, onPalette, onPassword, onKeys }: Props) => (
  <AppShell.Header px="md">
    <Group h="100%" justify="space-between" wrap="nowrap">
      <Group gap="sm" wrap="nowrap">
        <Burger
          opened={isMenuOpen}
          onClick={onMenu}
          hiddenFrom="sm"
          size="sm"
          aria-label={text.menu}
          aria-expanded={isMenuOpen}
        />
        <Text fw={700} size="lg">
          {text.product}
        </Text>
      </Group>
      <Group gap="sm" wrap="nowrap">
        <Button variant="default" aria-keyshortcuts="Control+K Meta+K" onClick={onPalette} px="xs">
          <Icon path="M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l4 4" />
          <VisuallyHidden>{text.palette.open}</VisuallyHidden>
          <Kbd size="xs" visibleFrom="sm" ml="xs">
            {modifierKey} K
          </Kbd>
        </Button>
        <Suspense fallback={<Button variant="default" px="xs" w={42} disabled aria-hidden />}>
          <AccountMenu me={me} onPassword={onPassword} onKeys={onKeys} />
        </Suspense>
      </Group>
    </Group>
  </AppShell.Header>
)
