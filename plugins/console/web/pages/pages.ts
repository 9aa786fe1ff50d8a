// All pages in navigation order. Each has a folder with a `page.tsx`; its default export is the component, in a separate
// chunk.
import { type ComponentType, type LazyExoticComponent, lazy } from 'react'
import type { Me } from '../api/me.ts'
import { hasRight, type Right } from '../api/rights.ts'
import type { Text } from '../text/en.ts'
import { text } from '../text/text.ts'
import { useOffersLinks } from './links/queries.ts'

export interface Page {
  readonly name: keyof Text['pages']
  readonly path: `/${string}` // includes all deeper paths
  readonly needs?: Right // default: every user sees it
  readonly isUnlisted?: true // other pages link to it, and the navigation does not
  readonly icon: string // SVG path data of a 24x24 line icon
  readonly view: LazyExoticComponent<ComponentType>
  readonly load: Load // the chunk of the view
  /** The command PATH/new in the palette: 'New rule'. */
  readonly create?: { readonly label: () => string; readonly needs: Right }
}

interface Chunk {
  readonly default: ComponentType
}
type Load = () => Promise<Chunk>

/** Like `lazy`, but renders a loaded chunk at once. React would show the fallback for at least 300 ms. */
function lazyPage(load: Load): Pick<Page, 'view' | 'load'> {
  let loaded: Chunk | null = null
  const loadNow: Load = async () => {
    loaded = await load()
    return loaded
  }
  const view = lazy(() => {
    const found = loaded
    if (found === null) return loadNow()
    // biome-ignore lint/suspicious/noThenProperty: React calls `then` before it draws, and a promise answers later
    return { then: (done: (chunk: Chunk) => void) => done(found) } as Promise<Chunk>
  })
  return { view, load: loadNow }
}

const pages: readonly Page[] = [
  {
    name: 'overview',
    path: '/',
    icon: 'M3 12 12 4l9 8M6 10v10h12V10',
    ...lazyPage(() => import('./overview/page.tsx'))
  },
  {
    name: 'rules',
    path: '/rules',
    icon: 'M4 7h11l-3-3M20 17H9l3 3',
    ...lazyPage(() => import('./rules/page.tsx')),
    create: { label: () => text.rules.add, needs: 'changesRules' }
  },
  {
    name: 'connections',
    path: '/connections',
    icon: 'M5 8a3 3 0 1 0 0-.01M13 17a3 3 0 1 0 6 0 3 3 0 1 0-6 0M9 10l5 5M15 5h5v5M20 5l-6 6',
    ...lazyPage(() => import('./connections/page.tsx'))
  },
  {
    name: 'clients',
    path: '/clients',
    icon: 'M4 5h16v6H4zM4 13h16v6H4zM8 8h.01M8 16h.01',
    ...lazyPage(() => import('./clients/page.tsx')),
    create: { label: () => text.clients.add, needs: 'managesAll' }
  },
  {
    name: 'links',
    path: '/links',
    icon: 'M9 15l6-6M10.5 6.5 13 4a5 5 0 0 1 7 7l-2.5 2.5M13.5 17.5 11 20a5 5 0 0 1-7-7l2.5-2.5',
    ...lazyPage(() => import('./links/page.tsx'))
  },
  {
    name: 'users',
    path: '/users',
    needs: 'seesAll',
    icon: 'M9 5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7zM3 20c.8-3.5 3-5 6-5s5.2 1.5 6 5M16 5.5a3.5 3.5 0 0 1 0 6.5M18 15.5c1.5.8 2.5 2.2 3 4.5',
    ...lazyPage(() => import('./users/page.tsx')),
    create: { label: () => text.users.add, needs: 'managesUsers' }
  },
  {
    name: 'quotas',
    path: '/quotas',
    icon: 'M4 18a8 8 0 1 1 16 0M12 18l4-6',
    ...lazyPage(() => import('./quotas/page.tsx')),
    create: { label: () => text.quotas.add, needs: 'managesAll' }
  },
  {
    name: 'traffic',
    path: '/traffic',
    icon: 'M4 20V4M4 20h16M8 16l4-5 3 3 5-7',
    ...lazyPage(() => import('./traffic/page.tsx'))
  },
  {
    name: 'bans',
    path: '/bans',
    needs: 'seesAll',
    icon: 'M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zM6.5 6.5l11 11',
    ...lazyPage(() => import('./bans/page.tsx')),
    create: { label: () => text.bans.add, needs: 'managesAll' }
  },
  {
    name: 'sources',
    path: '/sources',
    needs: 'seesAll',
    icon: 'M9 6h11M9 12h11M9 18h11M4 6h.01M4 12h.01M4 18h.01',
    ...lazyPage(() => import('./sources/page.tsx')),
    create: { label: () => text.sources.add, needs: 'managesAll' }
  },
  {
    name: 'notifications',
    path: '/notifications',
    icon: 'M6 16V11a6 6 0 0 1 12 0v5l2 2H4zM10 21h4',
    ...lazyPage(() => import('./notifications/page.tsx'))
  },
  {
    name: 'audit',
    path: '/audit',
    needs: 'seesAll',
    icon: 'M6 3h9l4 4v14H6zM9 12h7M9 16h7',
    ...lazyPage(() => import('./audit/page.tsx'))
  },
  {
    name: 'settings',
    path: '/settings',
    needs: 'seesAll',
    icon: 'M4 7h10M18 7h2M4 17h2M10 17h10M14 5v4M8 15v4',
    ...lazyPage(() => import('./settings/page.tsx'))
  },
  {
    name: 'plugins',
    path: '/plugins',
    needs: 'seesAll',
    icon: 'M10 4v3M14 4v3M7 7h10v5a5 5 0 0 1-10 0zM12 17v4',
    ...lazyPage(() => import('./plugins/page.tsx'))
  },
  {
    name: 'account',
    path: '/account',
    icon: 'M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM4 20c1-4 4-6 8-6s7 2 8 6',
    ...lazyPage(() => import('./account/page.tsx'))
  },
  {
    name: 'device',
    path: '/device',
    isUnlisted: true,
    icon: 'M4 5h16v11H4zM2 20h20M8 9l2 2-2 2M12 13h3',
    ...lazyPage(() => import('./device/page.tsx'))
  }
]

/** Returns the page that shows a path. */
export const pageAt = (path: string): Page | undefined =>
  pages.find(page => path === page.path || path.startsWith(`${page.path}/`))

/** Returns the pages that the user may open. The server offers links if it runs their plugin. */
export function usePages(me: Pick<Me, 'role'>): readonly Page[] {
  const offersLinks = useOffersLinks()
  return pages.filter(
    ({ name, needs }) =>
      (needs === undefined || hasRight(me, needs)) && (name !== 'links' || offersLinks !== false)
  )
}
