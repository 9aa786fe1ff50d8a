import { Button, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { notify } from '../../app/notices.ts'
import { count } from '../../format.ts'
import { Dialog } from '../../parts/dialog/Dialog.tsx'
import { text } from '../../text/text.ts'
import { type BulkAction, changeRules } from './change-rules.ts'
import { DeleteRules } from './DeleteRules.tsx'
import { LabelsForm } from './LabelsForm.tsx'
import type { Rule } from './queries.ts'

/** Actions on selected rules. The notice counts failures and shows the first error. */
export function BulkActions({
  rules,
  onDone
}: {
  readonly rules: readonly Rule[]
  readonly onDone: () => void
}) {
  const [isDeleteOpen, { open, close }] = useDisclosure()
  const [isLabelsOpen, { open: openLabels, close: closeLabels }] = useDisclosure()
  const [done, setDone] = useState(0)
  const change = useMutation({
    mutationFn: (action: BulkAction) =>
      changeRules(
        rules.map(({ rule_id }) => rule_id),
        action,
        setDone
      ),
    onSuccess: ({ changed, refused, first }, { action }) => {
      notify(text.rules.outcome(text.rules.done[action], count(changed), count(refused)))
      if (first) notify(first)
      close()
      closeLabels()
      onDone()
    },
    onSettled: () => setDone(0)
  })
  const button = (action: 'pause' | 'resume') => (
    <Button variant="default" size="xs" disabled={change.isPending} onClick={() => change.mutate({ action })}>
      {text.rules[action]}
    </Button>
  )
  return (
    <>
      {change.isPending && rules.length > 100 && (
        <Text size="sm" role="status">
          {text.rules.progress(count(done), count(rules.length))}
        </Text>
      )}
      {button('pause')}
      {button('resume')}
      <Button variant="default" size="xs" onClick={openLabels}>
        {text.rules.setLabels}
      </Button>
      <Button variant="default" size="xs" c="var(--bad)" onClick={open}>
        {text.rules.delete}
      </Button>
      <DeleteRules
        rules={rules}
        isOpen={isDeleteOpen}
        isBusy={change.isPending}
        onClose={close}
        onConfirm={() => change.mutate({ action: 'delete' })}
      />
      <Dialog isOpen={isLabelsOpen} onClose={closeLabels} title={text.rules.setLabels}>
        <LabelsForm
          isBusy={change.isPending}
          onSubmit={patch => change.mutate({ action: 'patch', patch: { labels: patch } })}
        />
      </Dialog>
    </>
  )
}
