import { Button } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { Dialog } from './Dialog.tsx'

interface Props {
  readonly label: string
  readonly title?: string // of the dialog; default: the label
  readonly size?: string // of the button
  readonly dialogSize?: string
  readonly children: (close: () => void) => ReactNode // the content of the dialog
}

/** A button that opens a dialog. */
export function DialogButton({ label, title = label, size, dialogSize = 'md', children }: Props) {
  const [isOpen, setOpen] = useState(false)
  const close = (): void => setOpen(false)
  return (
    <>
      <Button variant="default" {...(size && { size })} onClick={() => setOpen(true)}>
        {label}
      </Button>
      <Dialog isOpen={isOpen} onClose={close} title={title} size={dialogSize}>
        {children(close)}
      </Dialog>
    </>
  )
}
