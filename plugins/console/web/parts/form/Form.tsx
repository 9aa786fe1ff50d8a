import { Button, Group, Stack } from '@mantine/core'
import { type ReactNode, useEffect } from 'react'
import type { ApiError, WrongField } from '../../api/api-error.ts'
import { text } from '../../text/text.ts'
import { FormError } from './FormError.tsx'
import { useCheckedForm } from './use-checked-form.ts'

interface Props {
  readonly submitLabel: string // label of the button
  readonly isBusy: boolean
  readonly error: Error | null // an error without a field
  readonly onSubmit: () => void
  readonly onRefused: (error: ApiError | null) => void
  readonly check?: () => readonly WrongField[]
  readonly onCancel?: () => void
  readonly children: ReactNode
}

/** A column of fields, the error that belongs to no field, and the buttons. */
export function Form({ submitLabel, isBusy, error, onCancel, children, ...checked }: Props) {
  const form = useCheckedForm(checked)
  const { ref } = form
  // A dialog sets the focus when it opens, which is too early for a form that loads first.
  useEffect(() => ref.current?.querySelector<HTMLElement>('[data-autofocus]')?.focus(), [ref])
  return (
    <form {...form}>
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
