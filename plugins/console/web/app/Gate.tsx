// Decides what is shown: a form at which the caller must pass, or the pages. The path stays, so that each leads back to it.
import { Loader } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { lazy, type ReactNode, Suspense, useEffect } from 'react'
import { call } from '../api/call.ts'
import { useMe } from '../api/me.ts'
import { useMustChange } from '../api/use-must-change.ts'
import { watchServer } from '../api/watch-server.ts'
import { Failed } from '../parts/LoadError.tsx'
import { text } from '../text/text.ts'
import { Lost } from './ConnectionLost.tsx'
import { Shell } from './Shell.tsx'
import { setupTokenIn } from './setup-link.ts'

const SignIn = lazy(() => import('./forms/SignIn.tsx'))
const Setup = lazy(() => import('./forms/Setup.tsx'))
const NewPassword = lazy(() => import('./forms/NewPassword.tsx'))

export function Gate() {
  const me = useMe()
  const mustChange = useMustChange()
  const mayAsk = me.data != null && !mustChange
  useEffect(() => watchServer(mayAsk), [mayAsk])
  if (me.isPending) return <Alone>{<Loader aria-label={text.loading} />}</Alone>
  if (me.data === undefined) return <Alone>{<Failed error={me.error} retry={me.refetch} />}</Alone>
  if (me.data === null) return <Entrance />
  if (mustChange)
    return (
      <Alone>
        <NewPassword me={me.data} isTemporary />
      </Alone>
    )
  return <Shell me={me.data} />
}

/** The sign-in, or before there is an administrator the form that makes one. */
function Entrance() {
  const status = useQuery({ queryKey: ['onboarding'], queryFn: () => call('GET /v1/auth/status') })
  if (status.isPending) return <Alone>{<Loader aria-label={text.loading} />}</Alone>
  if (status.isError) return <Alone>{<Failed error={status.error} retry={status.refetch} />}</Alone>
  return (
    <Alone>{status.data.onboarding_required ? <Setup token={setupTokenIn(location)} /> : <SignIn />}</Alone>
  )
}

const Alone = ({ children }: { readonly children: ReactNode }) => (
  <main className="gate">
    <Lost />
    <Suspense fallback={<Loader aria-label={text.loading} />}>{children}</Suspense>
  </main>
)
