import { Button, PasswordInput, Text, TextInput } from '@mantine/core'
import { type ComponentProps, lazy, useState } from 'react'
import { type ApiError, toApiError } from '../../api/api-error.ts'
import { call, type Reply } from '../../api/call.ts'
import { signInAt, useWaysToSignIn } from '../../api/providers.ts'
import { queryClient } from '../../api/query-client.ts'
import { setMustChange, setMustEnroll } from '../../api/session-limits.ts'
import { FormError } from '../../parts/form/FormError.tsx'
import { useForm } from '../../parts/form/use-form.ts'
import { text } from '../../text/text.ts'
import { linkedProvider, takeSignInError } from '../sign-in-link.ts'
import { FormCard } from './FormCard.tsx'
import { ProviderButtons } from './ProviderButtons.tsx'
import type { StepDetails } from './StepForm.tsx'

type FactorDetails = ComponentProps<typeof SecondFactorForm>['details']

const SecondFactorForm = lazy(() => import('./SecondFactorForm.tsx'))
const StepForm = lazy(() => import('./StepForm.tsx'))

const initial = { user_id: '', password: '' }
const fields = { user_id: { label: text.signIn.user }, password: { label: text.signIn.password } }

function onSignedIn(reply: Reply<'POST /v1/auth/login'>) {
  setMustChange(reply.password_change_required)
  setMustEnroll(reply.second_factor_enrollment_required)
  return queryClient.resetQueries({ queryKey: ['me'] })
}

export default function SignIn() {
  const [stepRefusal, setStepRefusal] = useState<ApiError | null>(takeSignInError)
  const ways = useWaysToSignIn()
  const { input, form, error, reset } = useForm({
    initial,
    fields,
    save: body => {
      setStepRefusal(null)
      return call('POST /v1/auth/login', { body })
    },
    onDone: onSignedIn
  })
  const refused = stepRefusal ?? (error && toApiError(error))
  if (refused?.code === 'step_required') {
    const details = refused.details as unknown as StepDetails // made by the server
    return (
      <StepForm key={details.ticket} details={details} onSignedIn={onSignedIn} onRefused={setStepRefusal} />
    )
  }
  if (refused?.code === 'second_factor_required') {
    const details = refused.details as unknown as FactorDetails // made by the server
    return (
      <SecondFactorForm
        key={details.challenge}
        details={details}
        onSignedIn={onSignedIn}
        onRefused={setStepRefusal}
        onBack={() => {
          setStepRefusal(null)
          reset()
        }}
      />
    )
  }
  return (
    <FormCard title={text.signIn.title} form={form}>
      {ways.password && (
        <TextInput
          {...input('user_id')}
          autoComplete="username"
          autoCapitalize="none"
          required
          data-autofocus
        />
      )}
      {ways.password && <PasswordInput {...input('password')} autoComplete="current-password" required />}
      <FormError error={stepRefusal ?? form.error} />
      {ways.password && (
        <Button type="submit" loading={form.isBusy}>
          {text.signIn.submit}
        </Button>
      )}
      <ProviderButtons providers={ways.providers} start={signInAt} focused={linkedProvider()} />
      {ways.password && <Text c="dimmed">{text.signIn.forgotten}</Text>}
    </FormCard>
  )
}
