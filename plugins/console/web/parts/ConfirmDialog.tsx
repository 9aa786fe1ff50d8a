import { Button, Group, Stack } from '@mantine/core'
import type { ReactNode } from 'react'
import { text } from '../text/text.ts'
import { Dialog } from './Dialog.tsx'

interface Props {
  readonly title: string // names what goes
  readonly does: string // the word of the button
  readonly isOpen: boolean
  readonly isBusy: boolean
  readonly onClose: () => void
  readonly onConfirm: () => void
  readonly children: ReactNode // what becomes of it
}

/** Asks once, before what cannot be taken back. */
export const Confirm = ({ title, does, isOpen, isBusy, onClose, onConfirm, children }: Props) => (
  <Dialog isOpen={isOpen} onClose={onClose} title={title}>
    <Stack>
      {children}
      <Group justify="end">
        <Button variant="default" onClick={onClose} data-autofocus>
          {text.cancel}
        </Button>
        <Button color="red" loading={isBusy} onClick={onConfirm}>
          {does}
        </Button>
      </Group>
    </Stack>
  </Dialog>
)
