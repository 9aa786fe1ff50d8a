import { useState } from 'react'
import { ConfirmDialog } from '../../parts/dialog/ConfirmDialog.tsx'
import { text } from '../../text/text.ts'
import { allExisting, type Existing, ExistingSelect } from './ExistingSelect.tsx'
import { OpenConnections } from './OpenConnections.tsx'
import { nameOf, type Rule } from './queries.ts'

interface Props {
  readonly rules: readonly Rule[]
  readonly isOpen: boolean
  readonly isBusy: boolean
  readonly onClose: () => void
  readonly onConfirm: (existing: Existing) => void
}

/** Asks what happens to open connections of rules that pause. */
export function PauseDialog({ rules, onConfirm, ...dialog }: Props) {
  const [existing, setExisting] = useState<Existing>('keep')
  const [only] = rules
  const title = rules.length === 1 && only ? nameOf(only) : text.rules.count(rules.length)
  return (
    <ConfirmDialog
      {...dialog}
      title={text.existing.pause(title)}
      action={text.rules.pause}
      onConfirm={() => onConfirm(existing)}
    >
      {dialog.isOpen && <OpenConnections rules={rules} />}
      <ExistingSelect value={existing} onChange={setExisting} of={allExisting} />
    </ConfirmDialog>
  )
}
