import { Button, type ButtonProps } from '@mantine/core'
import { useState } from 'react'
import { ConfirmAction, type ConfirmActionProps } from './ConfirmAction.tsx'

interface Props<R> extends Omit<ConfirmActionProps<R>, 'isOpen' | 'onClose'> {
  readonly button?: ButtonProps & { readonly 'aria-label'?: string }
}

/** A button for an action that cannot be undone. It asks first. */
export function ConfirmButton<R>({ button, onDone, ...dialog }: Props<R>) {
  const [isOpen, setOpen] = useState(false)
  const close = (): void => setOpen(false)
  return (
    <>
      <Button variant="default" c="var(--bad)" {...button} onClick={() => setOpen(true)}>
        {dialog.action}
      </Button>
      <ConfirmAction
        {...dialog}
        isOpen={isOpen}
        onClose={close}
        onDone={result => {
          close()
          return onDone?.(result)
        }}
      />
    </>
  )
}
