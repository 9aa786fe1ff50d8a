// The pages, in the order of the navigation. One folder a page; its `page.tsx` has the component as default export and is a
// chunk of its own. A page whose plugin is off, or that the caller may not see, is not listed.
import { type ComponentType, type LazyExoticComponent, lazy } from 'react'
import type { Me } from '../api/me.ts'
import type { Text } from '../text/en.ts'

export interface Page {
  readonly name: keyof Text['pages']
  readonly path: `/${string}` // its own; deeper paths are its own, too
  readonly role?: Me['role'] // who sees it; default: everybody
  readonly icon: string // path of an SVG of 24 by 24, drawn as a line
  readonly view: LazyExoticComponent<ComponentType>
}

export const pages: readonly Page[] = [
  {
    name: 'overview',
    path: '/',
    icon: 'M3 12 12 4l9 8M6 10v10h12V10',
    view: lazy(() => import('./overview/page.tsx'))
  },
  {
    name: 'rules',
    path: '/rules',
    icon: 'M4 7h11l-3-3M20 17H9l3 3',
    view: lazy(() => import('./rules/page.tsx'))
  },
  {
    name: 'connections',
    path: '/connections',
    icon: 'M5 8a3 3 0 1 0 0-.01M13 17a3 3 0 1 0 6 0 3 3 0 1 0-6 0M9 10l5 5M15 5h5v5M20 5l-6 6',
    view: lazy(() => import('./connections/page.tsx'))
  },
  {
    name: 'edges',
    path: '/edges',
    icon: 'M4 5h16v6H4zM4 13h16v6H4zM8 8h.01M8 16h.01',
    view: lazy(() => import('./edges/page.tsx'))
  }
]

export const pagesOf = ({ role }: Pick<Me, 'role'>): readonly Page[] =>
  pages.filter(page => page.role === undefined || page.role === role)
