// A further step of the sign-in: the form of the plugin that demands it, or a field for the answer.
import { useMutation, useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import type { StepElement } from '../../../slots.ts'
import { type ApiError, toApiError } from '../../api/api-error.ts'
import { call, type Reply, rows } from '../../api/call.ts'
import { FormError } from '../../parts/form/FormError.tsx'
import { language, text } from '../../text/text.ts'
import { placeElement } from '../plugins/place-element.ts'
import { AnswerForm } from './AnswerForm.tsx'
import { FormCard } from './FormCard.tsx'

export interface StepDetails {
  readonly step: string
  readonly ticket: string
  readonly methods: readonly string[]
  readonly prompts: Readonly<Record<string, { readonly en: string; readonly de: string }>>
  readonly data?: Readonly<Record<string, unknown>>
}

interface Props {
  readonly details: StepDetails
  readonly onSignedIn: (reply: Reply<'POST /v1/auth/login'>) => void
  readonly onRefused: (error: ApiError) => void // the next step, or an expired ticket
}

export default function StepForm({ details, onSignedIn, onRefused }: Props) {
  const { step, ticket, methods } = details
  const elements = useQuery({ queryKey: ['console-steps'], queryFn: () => rows('GET /v1/console/steps') })
  const send = (method: string, answer: string) =>
    call('POST /v1/auth/step', { body: { ticket, method, answer } }).catch((thrown: unknown) => {
      const refusal = toApiError(thrown)
      if (/^(step_(required|expired)|second_factor_required)$/.test(refusal.code)) onRefused(refusal)
      throw thrown
    })
  const sending = useMutation({
    meta: { shown: true },
    mutationFn: ([method, answer]: readonly [string, string]) => send(method, answer),
    onSuccess: onSignedIn
  })
  if (elements.isPending) return null
  const part = elements.data?.find(found => found.step === step)
  if (part === undefined)
    return (
      <AnswerForm
        title={text.signIn.title}
        methods={methods}
        promptOf={name => details.prompts[name]?.[language] ?? name}
        send={send}
        onDone={onSignedIn}
      />
    )
  const answer = (method: string, given: string): void => sending.mutate([method, given])
  return (
    <FormCard title={text.signIn.title} form={inert}>
      <PluginForm part={part} given={{ methods, data: details.data ?? {}, language, answer }} />
      <FormError error={sending.error} />
    </FormCard>
  )
}

/** The element of the plugin sends its answer by itself. */
const inert = { isBusy: false, error: null, check: () => [], onRefused: () => {}, onSubmit: () => {} }

interface PluginProps {
  readonly part: { readonly module: string; readonly element: string }
  readonly given: StepElement
}

function PluginForm({ part, given }: PluginProps) {
  const host = useRef<HTMLDivElement>(null)
  const first = useRef(given)
  const [failure, setFailure] = useState<Error | null>(null)
  useEffect(() => {
    placeElement(part, first.current, () => host.current).catch((error: unknown) =>
      setFailure(error instanceof Error ? error : new Error(String(error)))
    )
  }, [part])
  return (
    <>
      <FormError error={failure} />
      <div ref={host} />
    </>
  )
}
