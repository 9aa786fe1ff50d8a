import { Text } from '@mantine/core'
import { lazy, Suspense, useState } from 'react'
import { call } from '../../api/call.ts'
import { ConfirmButton } from '../../parts/dialog/ConfirmButton.tsx'
import { Dialog } from '../../parts/dialog/Dialog.tsx'
import { DialogButton } from '../../parts/dialog/DialogButton.tsx'
import { Section } from '../../parts/page/Section.tsx'
import { QueryResult } from '../../parts/QueryResult.tsx'
import { Secret } from '../../parts/Secret.tsx'
import { text } from '../../text/text.ts'
import { factorsText } from '../users/factors-text.ts'
import { useUser } from '../users/queries.ts'

const SetUpApp = lazy(() => import('../../app/forms/SetUpApp.tsx'))

/** The authenticator app and the recovery codes of the signed-in user. */
export function SecondFactor({ user }: { readonly user: string }) {
  const read = useUser(user)
  const factors = read.data?.value.second_factors
  if (read.data && factors === undefined) return null // the plugin is disabled
  const hasApp = factors?.includes('totp') ?? false
  return (
    <Section title={text.secondFactor.title} actions={factors && <Actions hasApp={hasApp} />}>
      <QueryResult query={read}>
        {({ value }) => <Text>{hasApp ? factorsText(value.second_factors) : text.secondFactor.none}</Text>}
      </QueryResult>
    </Section>
  )
}

const Actions = ({ hasApp }: { readonly hasApp: boolean }) => (
  <>
    <DialogButton
      label={hasApp ? text.secondFactor.setUpAnother : text.secondFactor.setUp}
      title={text.secondFactor.setUp}
    >
      {close => (
        <Suspense>
          <SetUpApp onDone={close} />
        </Suspense>
      )}
    </DialogButton>
    {hasApp && <RenewButton />}
    {hasApp && (
      <ConfirmButton
        title={text.secondFactor.removeTitle}
        action={text.secondFactor.remove}
        run={() => call('DELETE /v1/users/me/totp')}
        notice={text.secondFactor.removed}
      >
        <Text>{text.secondFactor.removeText}</Text>
      </ConfirmButton>
    )}
  </>
)

/** Makes new recovery codes after a confirmation, and shows them once. */
function RenewButton() {
  const [codes, show] = useState<readonly string[] | null>(null)
  const close = (): void => show(null)
  return (
    <>
      <ConfirmButton
        title={text.secondFactor.renewTitle}
        action={text.secondFactor.renew}
        run={() => call('POST /v1/users/me/totp/recovery-codes')}
        onDone={({ recovery_codes }) => show(recovery_codes)}
      >
        <Text>{text.secondFactor.renewText}</Text>
      </ConfirmButton>
      <Dialog isOpen={codes !== null} onClose={close} title={text.secondFactor.renew}>
        <Secret name={text.secondFactor.recoveryCodes} value={codes?.join('\n') ?? ''} onDone={close} />
      </Dialog>
    </>
  )
}
