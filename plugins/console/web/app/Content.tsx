import { AppShell } from '@mantine/core'
import { lazy, Suspense } from 'react'
import { Route, Switch } from 'wouter'
import type { Me } from '../api/me.ts'
import { useLostAt } from '../api/reachability.ts'
import type { Page } from '../pages/pages.ts'
import { ErrorBoundary } from '../parts/ErrorBoundary.tsx'
import { Loading } from '../parts/QueryResult.tsx'
import { ConnectionLost } from './ConnectionLost.tsx'
import { NotFound } from './NotFound.tsx'
import type { PluginPart } from './plugins/plugin-parts.ts'

const PluginPage = lazy(() => import('./plugins/PluginPage.tsx'))
const Cards = lazy(() => import('./plugins/PluginCards.tsx'))

interface Props {
  readonly me: Me
  readonly pages: readonly Page[]
  readonly parts: readonly PluginPart[]
  readonly path: string
}

/** The page at the path, with the cards of plugins. */
export const Content = ({ me, pages, parts, path }: Props) => (
  <AppShell.Main id="content" tabIndex={-1} data-stale={useLostAt() !== null || undefined}>
    <ConnectionLost />
    <ErrorBoundary resetKey={path}>
      <Suspense fallback={<Loading />}>
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
      </Suspense>
      <Suspense fallback={null}>{parts.length > 0 && <Cards path={path} parts={parts} me={me} />}</Suspense>
    </ErrorBoundary>
  </AppShell.Main>
)
