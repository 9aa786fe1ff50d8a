import { AppShell, NavLink } from '@mantine/core'
import { Link } from 'wouter'
import type { Page } from '../pages/pages.ts'
import { Icon } from '../parts/Icon.tsx'
import { text } from '../text/text.ts'
import { iconOf, type Part, pathOf, titleOf } from './plugins/plugin-parts.ts'

interface Props {
  readonly pages: readonly Page[]
  readonly parts: readonly Part[]
  readonly path: string
}

export const Navigation = ({ pages, parts, path }: Props) => (
  <AppShell.Navbar p="sm" aria-label={text.nav}>
    {pages.map(({ name, path: to, icon }) => (
      <Way key={name} to={to} path={path} label={text.pages[name]} icon={icon} />
    ))}
    {parts
      .filter(({ on }) => on === 'page')
      .map(part => (
        <Way key={part.module} to={pathOf(part)} path={path} label={titleOf(part)} icon={iconOf(part)} />
      ))}
  </AppShell.Navbar>
)

interface WayProps {
  readonly to: string
  readonly path: string
  readonly label: string
  readonly icon: string
}

const Way = ({ to, path, label, icon }: WayProps) => (
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
