import { Button, Group, Stack } from '@mantine/core'
import { type ReactNode, useEffect, useRef } from 'react'
import { text } from '../../text/text.ts'
import { FormError } from './FormError.tsx'

interface Props {
  readonly submitLabel: string // label of the button
  readonly isBusy: boolean
  readonly error: Error | null // an error without a field
  readonly onSubmit: () => void
  readonly onCancel?: () => void
  readonly children: ReactNode
}

/** A column of fields, the error that belongs to no field, and the buttons. */
export function Form({ submitLabel, isBusy, error, onSubmit, onCancel, children }: Props) {
  const form = useRef<HTMLFormElement>(null)
  // A dialog sets the focus when it opens, which is too early for a form that loads first.
  useEffect(() => form.current?.querySelector<HTMLElement>('[data-autofocus]')?.focus(), [])
  return (
    <form
      ref={form}
      onSubmit={event => {
        event.preventDefault()
        onSubmit()
      }}
    >
      <Stack>
        {children}
        <FormError error={error} />
        <Group>
          <Button type="submit" loading={isBusy}>
            {submitLabel}
          </Button>
          {onCancel && (
            <Button variant="default" onClick={onCancel}>
              {text.cancel}
            </Button>
          )}
        </Group>
      </Stack>
    </form>
  )
}
