import { AppShell, NavLink } from '@mantine/core'
import { Link } from 'wouter'
import type { Page } from '../pages/pages.ts'
import { Icon } from '../parts/Icon.tsx'
import { text } from '../text/text.ts'
import { iconOf, type PluginPart, pathOf, titleOf } from './plugins/plugin-parts.ts'

interface Props {
  readonly pages: readonly Page[]
  readonly parts: readonly PluginPart[]
  readonly path: string
}

export const Navigation = ({ pages, parts, path }: Props) => (
  <AppShell.Navbar p="sm" aria-label={text.nav}>
    {pages
      .filter(({ isUnlisted }) => !isUnlisted)
      .map(({ name, path: to, icon }) => (
        <NavigationLink key={name} to={to} path={path} label={text.pages[name]} icon={icon} />
      ))}
    {parts
      .filter(({ on }) => on === 'page')
      .map(part => (
        <NavigationLink
          key={part.module}
          to={pathOf(part)}
          path={path}
          label={titleOf(part)}
          icon={iconOf(part)}
        />
      ))}
  </AppShell.Navbar>
)

interface NavigationLinkProps {
  readonly to: string
  readonly path: string
  readonly label: string
  readonly icon: string
}

const NavigationLink = ({ to, path, label, icon }: NavigationLinkProps) => (
  <NavLink
    component={Link}
    href={to}
    label={label}
    leftSection={<Icon path={icon} />}
    active={isAt(path, to)}
    aria-current={isAt(path, to) ? 'page' : undefined}
  />
)

const isAt = (path: string, page: string): boolean =>
  path === page || (page !== '/' && path.startsWith(`${page}/`))
