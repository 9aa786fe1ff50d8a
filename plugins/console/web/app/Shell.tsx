import { AppShell } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { lazy, Suspense, useEffect, useRef } from 'react'
import { useLocation } from 'wouter'
import type { Me } from '../api/me.ts'
import { isPageOutdated } from '../api/watch-server.ts'
import { usePages } from '../pages/pages.ts'
import { text } from '../text/text.ts'
import { Content } from './Content.tsx'
import { Header } from './Header.tsx'
import { Navigation } from './Navigation.tsx'
import { notify } from './notices.ts'
import { usePluginParts } from './plugins/plugin-parts.ts'
import { takeSignInError } from './sign-in-link.ts'
import { focusSearch, useKeys } from './use-keys.ts'

const Palette = lazy(() => import('./palette/Palette.tsx'))
const Keys = lazy(() => import('./KeyboardShortcuts.tsx'))
const PasswordDialog = lazy(() => import('./forms/PasswordDialog.tsx'))

/** Header, navigation and dialogs around every page. */
export function Shell({ me }: { readonly me: Me }) {
  const [menu, { toggle, close }] = useDisclosure()
  const [palette, openPalette] = useDisclosure()
  const [password, openPassword] = useDisclosure()
  const [keys, openKeys] = useDisclosure()
  const [path, go] = useLocation()
  const context = { me, pages: usePages(me), parts: usePluginParts() }
  useKeys({ 'mod+k': openPalette.open, '?': openKeys.open, '/': focusSearch })
  useArrival(path, close)
  useEffect(() => {
    const refused = takeSignInError() // of a confirmation, or of a new identity
    if (refused) notify(refused)
  }, [])
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 208, breakpoint: 'sm', collapsed: { mobile: !menu } }}
      padding={{ base: 'md', sm: 'xl' }}
    >
      <a className="skip" href="#content">
        {text.skip}
      </a>
      <Header
        me={me}
        isMenuOpen={menu}
        onMenu={toggle}
        onPalette={openPalette.open}
        onPassword={openPassword.open}
        onKeys={openKeys.open}
      />
      <Navigation {...context} path={path} />
      <Content {...context} path={path} />
      <Suspense>
        {palette && (
          <Palette
            {...context}
            go={go}
            onClose={openPalette.close}
            onPassword={openPassword.open}
            onKeys={openKeys.open}
          />
        )}
        {keys && <Keys onClose={openKeys.close} />}
        {password && <PasswordDialog me={me} onClose={openPassword.close} />}
      </Suspense>
    </AppShell>
  )
}

/** After a navigation, moves the focus to the content and loads a newer build of the pages, if there is one. */
function useArrival(path: string, onArrival: () => void): void {
  const last = useRef(path)
  useEffect(() => {
    if (last.current === path) return
    last.current = path
    if (isPageOutdated()) location.reload()
    onArrival()
    document.getElementById('content')?.focus({ preventScroll: true })
    window.scrollTo(0, 0)
  }, [path, onArrival])
}
