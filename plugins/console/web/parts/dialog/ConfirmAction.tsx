import { useMutation } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { notify } from '../../app/notices.ts'
import { ConfirmDialog } from './ConfirmDialog.tsx'

export interface ConfirmActionProps<R> {
  readonly title: string // names the record
  readonly action: string // its name, on the button
  readonly run: () => Promise<R>
  readonly notice?: string | ((result: R) => string)
  readonly isOpen?: boolean
  readonly onClose: () => void
  readonly onDone?: (result: R) => void | Promise<void> // instead of `onClose` after the action
  readonly children: ReactNode // the consequences
}

/** Asks before an action that cannot be undone, then runs it. */
export function ConfirmAction<R>(props: ConfirmActionProps<R>) {
  const { run, notice, isOpen = true, onClose, onDone = onClose, ...dialog } = props
  const action = useMutation({
    mutationFn: run,
    onSuccess: result => {
      if (notice !== undefined) notify(typeof notice === 'string' ? notice : notice(result))
      return onDone(result)
    }
  })
  return (
    <ConfirmDialog
      {...dialog}
      isOpen={isOpen}
      isBusy={action.isPending}
      onClose={onClose}
      onConfirm={() => action.mutate()}
    />
  )
}
