import { Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { call, rows } from '../../api/call.ts'
import { answerConfirmation } from '../../api/confirmation.ts'
import { useMe } from '../../api/me.ts'
import { confirmAt, useWaysToSignIn } from '../../api/providers.ts'
import { Dialog } from '../../parts/dialog/Dialog.tsx'
import { text } from '../../text/text.ts'
import { AnswerForm } from './AnswerForm.tsx'
import { ProviderButtons } from './ProviderButtons.tsx'
import { proofField, proofsFor, proofText } from './proofs.ts'

/** Asks for a proof of the user. The request that needs it is then sent again. */
export default function Confirmation() {
  const user_id = useMe().data?.user_id ?? ''
  const { data } = useQuery({
    queryKey: ['second-factors', user_id],
    queryFn: () => call('GET /v1/users/{user_id}', { path: { user_id } }),
    retry: false // a session that must set up a second factor may not read it
  })
  const factors = data?.second_factors ?? []
  const identities = useQuery({
    queryKey: ['identities', user_id],
    queryFn: () => rows('GET /v1/users/{user_id}/identities', { path: { user_id } }),
    retry: false
  })
  const own = new Set(identities.data?.map(({ provider }) => provider))
  const { password, providers } = useWaysToSignIn()
  return (
    <Dialog isOpen onClose={() => answerConfirmation(false)} title={text.confirmation.title}>
      <Text mb="sm">{text.confirmation.lead}</Text>
      <AnswerForm
        methods={proofsFor(factors, password)}
        promptOf={proofText}
        send={(method, answer) =>
          call('POST /v1/auth/reauthenticate', { body: { [proofField(method)]: answer } })
        }
        onDone={() => answerConfirmation(true)}
        submit={text.secondFactor.confirm}
      />
      <Stack mt="sm">
        <ProviderButtons providers={providers.filter(({ name }) => own.has(name))} start={confirmAt} />
      </Stack>
    </Dialog>
  )
}
