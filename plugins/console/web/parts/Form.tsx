import { Button, Group, Stack } from '@mantine/core'
import { type ReactNode, useEffect, useRef } from 'react'
import { text } from '../text/text.ts'
import { Refusal } from './FormError.tsx'

interface Props {
  readonly does: string // the word of the button
  readonly isBusy: boolean
  readonly error: Error | null // which belongs to no field
  readonly onSubmit: () => void
  readonly onCancel?: () => void
  readonly children: ReactNode
}

/** Fields one below the other, what is wrong with all of them, and the button. */
export function Form({ does, isBusy, error, onSubmit, onCancel, children }: Props) {
  const form = useRef<HTMLFormElement>(null)
  // A dialog moves the focus when it opens: a form that is read first comes later.
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
        <Refusal error={error} />
        <Group>
          <Button type="submit" loading={isBusy}>
            {does}
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
