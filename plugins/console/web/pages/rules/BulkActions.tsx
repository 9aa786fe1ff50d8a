import { Button, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { notify } from '../../app/notices.ts'
import { count } from '../../format.ts'
import { Dialog } from '../../parts/dialog/Dialog.tsx'
import { text } from '../../text/text.ts'
import { type BulkAction, changeRules } from './change-rules.ts'
import { DeleteRules } from './DeleteRules.tsx'
import { LabelsForm } from './LabelsForm.tsx'
import { PauseDialog } from './PauseDialog.tsx'
import type { Rule } from './queries.ts'

/** Actions on selected rules. The notice counts failures and shows the first error. */
export function BulkActions({
  rules,
  onDone
}: {
  readonly rules: readonly Rule[]
  readonly onDone: () => void
}) {
  const [asking, setAsking] = useState<'pause' | 'labels' | 'delete' | null>(null)
  const close = (): void => setAsking(null)
  const [done, setDone] = useState(0)
  const change = useMutation({
    mutationFn: async (action: BulkAction) => {
      const ids = rules.map(({ rule_id }) => rule_id)
      if (action.action === 'delete' && action.existing === 'cut')
        await changeRules(ids, { action: 'pause', existing: 'cut' }, setDone)
      return changeRules(ids, action, setDone)
    },
    onSuccess: ({ changed, refused, first }, { action }) => {
      notify(text.rules.outcome(text.rules.done[action], count(changed), count(refused)))
      if (first) notify(first)
      setAsking(null)
      onDone()
    },
    onSettled: () => setDone(0)
  })
  const button = (label: string, onClick: () => void) => (
    <Button variant="default" size="xs" disabled={change.isPending} onClick={onClick}>
      {label}
    </Button>
  )
  return (
    <>
      {change.isPending && rules.length > 100 && (
        <Text size="sm" role="status">
          {text.rules.progress(count(done), count(rules.length))}
        </Text>
      )}
      {button(text.rules.pause, () => setAsking('pause'))}
      {button(text.rules.resume, () => change.mutate({ action: 'resume' }))}
      {button(text.rules.setLabels, () => setAsking('labels'))}
      <Button variant="default" size="xs" c="var(--bad)" onClick={() => setAsking('delete')}>
        {text.rules.delete}
      </Button>
      <PauseDialog
        rules={rules}
        isOpen={asking === 'pause'}
        isBusy={change.isPending}
        onClose={close}
        onConfirm={existing => change.mutate({ action: 'pause', existing })}
      />
      <DeleteRules
        rules={rules}
        isOpen={asking === 'delete'}
        isBusy={change.isPending}
        onClose={close}
        onConfirm={existing => change.mutate({ action: 'delete', existing })}
      />
      <Dialog isOpen={asking === 'labels'} onClose={close} title={text.rules.setLabels}>
        <LabelsForm
          isBusy={change.isPending}
          onSubmit={patch => change.mutate({ action: 'patch', patch: { labels: patch } })}
        />
      </Dialog>
    </>
  )
}
