// The second factor of the sign-in.
import { Button } from '@mantine/core'
import { type ApiError, toApiError } from '../../api/api-error.ts'
import { call, type Reply } from '../../api/call.ts'
import { text } from '../../text/text.ts'
import { AnswerForm } from './AnswerForm.tsx'
import { isProof, proofField, proofText } from './proofs.ts'

interface Props {
  readonly details: { readonly challenge: string; readonly methods: readonly string[] }
  readonly onSignedIn: (reply: Reply<'POST /v1/auth/login'>) => void
  readonly onRefused: (error: ApiError) => void // a further step
  readonly onBack: () => void
}

export default function SecondFactorForm({ details, onSignedIn, onRefused, onBack }: Props) {
  const { challenge, methods } = details
  const send = (method: string, answer: string) =>
    call('POST /v1/auth/second-factor', { body: { challenge, [proofField(method)]: answer } }).catch(
      (thrown: unknown) => {
        const refusal = toApiError(thrown)
        if (refusal.code === 'step_required') onRefused(refusal)
        throw thrown
      }
    )
  return (
    <AnswerForm
      title={text.signIn.title}
      methods={methods.filter(isProof)}
      promptOf={proofText}
      send={send}
      onDone={onSignedIn}
    >
      <Button variant="default" onClick={onBack}>
        {text.secondFactor.back}
      </Button>
    </AnswerForm>
  )
}
