import { Text } from '@mantine/core'
import { useState } from 'react'
import { count } from '../../format.ts'
import { ConfirmDialog } from '../../parts/dialog/ConfirmDialog.tsx'
import { text } from '../../text/text.ts'
import { ExistingSelect } from './ExistingSelect.tsx'
import { OpenConnections } from './OpenConnections.tsx'
import { nameOf, type Rule } from './queries.ts'

interface Props {
  readonly rules: readonly Rule[]
  readonly isOpen: boolean
  readonly isBusy: boolean
  readonly onClose: () => void
  readonly onConfirm: (existing: DeletedExisting) => void
}

/** Deleted rules keep no connections. */
export type DeletedExisting = 'drain' | 'cut'
const choices: readonly DeletedExisting[] = ['drain', 'cut']

const maxNamed = 5

/** Confirms a deletion, with the names of the rules and the number of open connections. */
export function DeleteRules({ rules, onConfirm, ...dialog }: Props) {
  const [existing, setExisting] = useState<DeletedExisting>('drain')
  const [only] = rules
  const title = rules.length === 1 && only ? nameOf(only) : text.rules.count(rules.length)
  return (
    <ConfirmDialog
      {...dialog}
      title={text.rules.confirmDelete(title)}
      action={text.rules.delete}
      onConfirm={() => onConfirm(existing)}
    >
      {rules.length > 1 && (
        <Text size="sm">
          {rules.slice(0, maxNamed).map(nameOf).join(', ')}
          {rules.length > maxNamed && ` ${text.rules.andMore(count(rules.length - maxNamed))}`}
        </Text>
      )}
      {dialog.isOpen && <OpenConnections rules={rules} />}
      <ExistingSelect value={existing} onChange={setExisting} of={choices} />
      <Text>{text.rules.confirmText}</Text>
    </ConfirmDialog>
  )
}
