// Shows a form that the user must pass, or the pages. The path stays, so the user returns to the same page.
import { Loader } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { lazy, type ReactNode, Suspense, useEffect } from 'react'
import { call } from '../api/call.ts'
import { useMe } from '../api/me.ts'
import { setMustEnroll, useMustChange, useMustEnroll } from '../api/session-limits.ts'
import { watchServer } from '../api/watch-server.ts'
import { LoadError } from '../parts/LoadError.tsx'
import { text } from '../text/text.ts'
import { ConnectionLost } from './ConnectionLost.tsx'
import { Shell } from './Shell.tsx'
import { setupTokenIn } from './setup-link.ts'

const SignIn = lazy(() => import('./forms/SignIn.tsx'))
const Setup = lazy(() => import('./forms/Setup.tsx'))
const NewPassword = lazy(() => import('./forms/NewPassword.tsx'))
const SetUpApp = lazy(() => import('./forms/SetUpApp.tsx'))

export function Gate() {
  const me = useMe()
  const mustChange = useMustChange()
  const mustEnroll = useMustEnroll()
  const isSignedIn = me.data != null && !mustChange && !mustEnroll
  useEffect(() => watchServer(isSignedIn), [isSignedIn])
  if (me.isPending) return <Centered>{<Loader aria-label={text.loading} />}</Centered>
  if (me.data === undefined) return <Centered>{<LoadError error={me.error} retry={me.refetch} />}</Centered>
  if (me.data === null) return <SignInOrSetup />
  if (mustChange)
    return (
      <Centered>
        <NewPassword me={me.data} isTemporary />
      </Centered>
    )
  if (mustEnroll)
    return (
      <Centered>
        <SetUpApp
          title={text.secondFactor.title}
          lead={text.secondFactor.needed}
          onDone={() => setMustEnroll(false)}
        />
      </Centered>
    )
  return <Shell me={me.data} />
}

/** The sign-in form, or the setup form while there is no administrator. */
function SignInOrSetup() {
  const status = useQuery({ queryKey: ['onboarding'], queryFn: () => call('GET /v1/auth/status') })
  if (status.isPending) return <Centered>{<Loader aria-label={text.loading} />}</Centered>
  if (status.isError) return <Centered>{<LoadError error={status.error} retry={status.refetch} />}</Centered>
  return (
    <Centered>
      {status.data.onboarding_required ? <Setup token={setupTokenIn(location)} /> : <SignIn />}
    </Centered>
  )
}

const Centered = ({ children }: { readonly children: ReactNode }) => (
  <main className="gate">
    <ConnectionLost />
    <Suspense fallback={<Loader aria-label={text.loading} />}>{children}</Suspense>
  </main>
)
