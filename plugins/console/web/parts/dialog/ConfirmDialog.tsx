import { Button, Group, Stack } from '@mantine/core'
import type { ReactNode } from 'react'
import { text } from '../../text/text.ts'
import { Dialog } from './Dialog.tsx'

interface Props {
  readonly title: string // names the record
  readonly action: string // label of the button
  readonly isOpen: boolean
  readonly isBusy: boolean
  readonly onClose: () => void
  readonly onConfirm: () => void
  readonly children: ReactNode // the consequences
}

/** Asks before an action that cannot be undone. */
export const ConfirmDialog = ({ title, action, isOpen, isBusy, onClose, onConfirm, children }: Props) => (
  <Dialog isOpen={isOpen} onClose={onClose} title={title}>
    <Stack>
      {children}
      <Group justify="end">
        <Button variant="default" onClick={onClose} data-autofocus>
          {text.cancel}
        </Button>
        <Button color="red" loading={isBusy} onClick={onConfirm}>
          {action}
        </Button>
      </Group>
    </Stack>
  </Dialog>
)
