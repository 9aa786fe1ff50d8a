// Sets up an authenticator app: the QR code, a code of the app, and the recovery codes.
import { Button, Loader, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { toApiError } from '../../api/api-error.ts'
import { call, type Reply } from '../../api/call.ts'
import { Command } from '../../parts/Command.tsx'
import { FormError } from '../../parts/form/FormError.tsx'
import { useForm } from '../../parts/form/use-form.ts'
import { QrCode } from '../../parts/QrCode.tsx'
import { Secret } from '../../parts/Secret.tsx'
import { text } from '../../text/text.ts'
import { useSignOut } from '../use-sign-out.ts'
import { AnswerForm } from './AnswerForm.tsx'
import { FormCard } from './FormCard.tsx'
import { proofField, proofText } from './proofs.ts'

interface Props {
  readonly title?: string // on a page without navigation
  readonly lead?: string
  readonly onDone: () => void // the user has seen the recovery codes
}

export default function SetUpApp({ onDone, ...card }: Props) {
  const made = useMutation({
    meta: { shown: true },
    mutationFn: () => call('POST /v1/users/me/totp')
  })
  const begin = useRef(made.mutate)
  useEffect(() => begin.current(), [])
  if (made.isError)
    return toApiError(made.error).code === 'second_factor_enrollment_required' ? (
      <ProveFactor {...card} onDone={onDone} />
    ) : (
      <FormError error={made.error} />
    )
  if (!made.data) return <Loader aria-label={text.loading} />
  return <ConfirmApp {...card} secret={made.data} onDone={onDone} />
}

/** For the session of a provider: the user has an app, and nothing has asked for its code yet. */
const ProveFactor = ({ onDone, title }: Props) => (
  <AnswerForm
    {...(title !== undefined && { title })}
    methods={['totp', 'recovery_code']}
    promptOf={proofText}
    send={(method, answer) =>
      call('POST /v1/auth/reauthenticate', { body: { [proofField(method)]: answer } })
    }
    onDone={onDone}
    submit={text.secondFactor.confirm}
  />
)

interface ConfirmProps extends Props {
  readonly secret: Reply<'POST /v1/users/me/totp'>
}

function ConfirmApp({ title, lead, secret: { secret, uri }, onDone }: ConfirmProps) {
  const { input, form, result } = useForm({
    initial: { code: '' },
    fields: { code: { label: text.proofs.totp } },
    save: body => call('POST /v1/users/me/totp/confirm', { body })
  })
  const signOut = useSignOut()
  if (result)
    return (
      <Secret
        name={text.secondFactor.recoveryCodes}
        value={result.recovery_codes.join('\n')}
        onDone={onDone}
      />
    )
  return (
    <FormCard {...(title !== undefined && { title })} {...(lead !== undefined && { lead })} form={form}>
      <Text>{text.secondFactor.scan}</Text>
      <QrCode value={uri} label={text.secondFactor.qrCode} />
      <Text>{text.secondFactor.type}</Text>
      <Command value={secret} />
      <TextInput
        {...input('code')}
        autoComplete="one-time-code"
        inputMode="numeric"
        required
        data-autofocus
      />
      <FormError error={form.error} />
      <Button type="submit" loading={form.isBusy}>
        {text.secondFactor.confirm}
      </Button>
      {title !== undefined && (
        <Button variant="default" onClick={() => signOut.mutate()}>
          {text.signOut}
        </Button>
      )}
    </FormCard>
  )
}
