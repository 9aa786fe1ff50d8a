import {
  Alert,
  AppShell,
  Burger,
  Button,
  Group,
  Kbd,
  Loader,
  NavLink,
  Text,
  VisuallyHidden
} from '@mantine/core'
import { useDisclosure, useHotkeys } from '@mantine/hooks'
import { lazy, Suspense, useEffect, useRef } from 'react'
import { Link, Route, Switch, useLocation } from 'wouter'
import type { Me } from '../api/me.ts'
import { useLostAt } from '../api/reachable.ts'
import { duration } from '../format.ts'
import { pagesOf } from '../pages/pages.ts'
import { Dialog } from '../parts/Dialog.tsx'
import { Icon } from '../parts/Icon.tsx'
import { useNow } from '../parts/use-now.ts'
import { text } from '../text/text.ts'
import { AccountMenu } from './AccountMenu.tsx'
import { NotFound } from './NotFound.tsx'

const Palette = lazy(() => import('./Palette.tsx'))
const NewPassword = lazy(() => import('./forms/NewPassword.tsx'))

export function Shell({ me }: { readonly me: Me }) {
  const [menu, { toggle, close }] = useDisclosure()
  const [palette, openPalette] = useDisclosure()
  const [password, openPassword] = useDisclosure()
  const [path] = useLocation()
  const pages = pagesOf(me)
  useHotkeys([['mod+K', openPalette.open]], [])
  useFocusOnArrival(path, close)
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 208, breakpoint: 'sm', collapsed: { mobile: !menu } }}
      padding={{ base: 'md', sm: 'xl' }}
    >
      <a className="skip" href="#content">
        {text.skip}
      </a>
      <AppShell.Header px="md">
        <Group h="100%" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger
              opened={menu}
              onClick={toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label={text.menu}
              aria-expanded={menu}
            />
            <Text fw={700} size="lg">
              {text.product}
            </Text>
          </Group>
          <Group gap="sm" wrap="nowrap">
            <Button
              variant="default"
              aria-keyshortcuts="Control+K Meta+K"
              onClick={openPalette.open}
              leftSection={<Icon path="M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l4 4" size={16} />}
            >
              <VisuallyHidden>{text.palette.open}</VisuallyHidden>
              <Kbd size="xs" visibleFrom="sm">
                {/Mac|iPhone/.test(navigator.userAgent) ? '⌘ K' : 'Ctrl K'}
              </Kbd>
            </Button>
            <AccountMenu me={me} onPassword={openPassword.open} />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="sm" aria-label={text.nav}>
        {pages.map(({ name, path: to, icon }) => (
          <NavLink
            key={name}
            component={Link}
            href={to}
            label={text.pages[name]}
            leftSection={<Icon path={icon} />}
            active={isAt(path, to)}
            aria-current={isAt(path, to) ? 'page' : undefined}
          />
        ))}
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1}>
        <Lost />
        <Suspense fallback={<Loader aria-label={text.loading} />}>
          <Switch>
            {pages.map(({ name, path: to, view: View }) => (
              <Route key={name} path={to === '/' ? '/' : `${to}/*?`}>
                <View />
              </Route>
            ))}
            <Route>
              <NotFound />
            </Route>
          </Switch>
        </Suspense>
      </AppShell.Main>
      <Suspense>
        {palette && <Palette pages={pages} onClose={openPalette.close} />}
        <Dialog isOpen={password} onClose={openPassword.close} title={text.password.title}>
          <NewPassword me={me} onDone={openPassword.close} />
        </Dialog>
      </Suspense>
    </AppShell>
  )
}

const isAt = (path: string, page: string): boolean =>
  path === page || (page !== '/' && path.startsWith(`${page}/`))

/** After a change of the page the keyboard and a screen reader begin at its content. */
function useFocusOnArrival(path: string, onArrival: () => void): void {
  const last = useRef(path)
  useEffect(() => {
    if (last.current === path) return
    last.current = path
    onArrival()
    document.getElementById('content')?.focus({ preventScroll: true })
    window.scrollTo(0, 0)
  }, [path, onArrival])
}

function Lost() {
  const lostAt = useLostAt()
  const now = useNow(1000)
  return (
    <div role="status">
      {lostAt !== null && (
        <Alert color="orange" variant="default" mb="lg">
          {text.lost(duration(Math.max(0, now - lostAt)))}
        </Alert>
      )}
    </div>
  )
}
