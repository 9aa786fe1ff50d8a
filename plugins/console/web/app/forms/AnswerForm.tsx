import { Button, PasswordInput, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { FormError } from '../../parts/form/FormError.tsx'
import { useForm } from '../../parts/form/use-form.ts'
import { text } from '../../text/text.ts'
import { FormCard } from './FormCard.tsx'

interface Props<R> {
  readonly title?: string
  readonly methods: readonly string[] // how the user can answer, the default first
  readonly promptOf: (method: string) => string
  readonly send: (method: string, answer: string) => Promise<R>
  readonly onDone: (reply: R) => void
  readonly submit?: string
  readonly children?: ReactNode
}

/** A field for a proof of the user, and buttons for other proofs. */
export function AnswerForm<R>(props: Props<R>) {
  const { title, methods, promptOf, send, onDone, submit = text.signIn.submit, children } = props
  const [method, setMethod] = useState(methods[0] ?? '')
  const { input, form } = useForm({
    initial: { answer: '' },
    fields: { answer: { label: promptOf(method) } },
    save: ({ answer }) => send(method, answer),
    onDone
  })
  const field = { ...input('answer'), required: true, 'data-autofocus': true, autoFocus: true }
  return (
    <FormCard {...(title !== undefined && { title })} form={form}>
      {method === 'password' ? (
        <PasswordInput key={method} {...field} autoComplete="current-password" />
      ) : (
        <TextInput key={method} {...field} autoComplete="one-time-code" autoCapitalize="none" />
      )}
      <FormError error={form.error} />
      <Button type="submit" loading={form.isBusy}>
        {submit}
      </Button>
      {methods
        .filter(name => name !== method)
        .map(name => (
          <Button key={name} variant="default" onClick={() => setMethod(name)}>
            {promptOf(name)}
          </Button>
        ))}
      {children}
    </FormCard>
  )
}
