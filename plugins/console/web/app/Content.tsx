import { AppShell, Loader } from '@mantine/core'
import { lazy, Suspense } from 'react'
import { Route, Switch } from 'wouter'
import type { Me } from '../api/me.ts'
import { useLostAt } from '../api/reachability.ts'
import type { Page } from '../pages/pages.ts'
import { Boundary } from '../parts/ErrorBoundary.tsx'
import { text } from '../text/text.ts'
import { Lost } from './ConnectionLost.tsx'
import { NotFound } from './NotFound.tsx'
import type { Part } from './plugins/plugin-parts.ts'

const PluginPage = lazy(() => import('./plugins/PluginPage.tsx'))
const Cards = lazy(() => import('./plugins/PluginCards.tsx'))

interface Props {
  readonly me: Me
  readonly pages: readonly Page[]
  readonly parts: readonly Part[]
  readonly path: string
}

/** The page of the path, and what plugins add to it. */
export const Content = ({ me, pages, parts, path }: Props) => (
  <AppShell.Main id="content" tabIndex={-1} data-stale={useLostAt() !== null || undefined}>
    <Lost />
    <Boundary of={path}>
      <Suspense fallback={<Loader aria-label={text.loading} />}>
        <Switch>
          {pages.map(({ name, path: to, view: View }) => (
            <Route key={name} path={to === '/' ? '/' : `${to}/*?`}>
              <View />
            </Route>
          ))}
          <Route path="/pages/:name">{({ name }) => <PluginPage name={name} me={me} />}</Route>
          <Route>
            <NotFound />
          </Route>
        </Switch>
        {parts.length > 0 && <Cards path={path} parts={parts} me={me} />}
      </Suspense>
    </Boundary>
  </AppShell.Main>
)
