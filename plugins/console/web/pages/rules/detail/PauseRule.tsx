import { Button } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../../api/call.ts'
import { ConfirmDialog } from '../../../parts/dialog/ConfirmDialog.tsx'
import { text } from '../../../text/text.ts'
import { type Existing, ExistingSelect } from '../ExistingSelect.tsx'
import { OpenConnections } from '../OpenConnections.tsx'
import { nameOf, type Rule } from '../queries.ts'

interface Props {
  readonly rule: Rule
  readonly open: number | null // connections and flows; null: not known yet
}

/** Pauses or resumes the rule. With open connections, it asks what happens to them. */
export function PauseRule({ rule, open }: Props) {
  const [isAsking, setAsking] = useState(false)
  const [existing, setExisting] = useState<Existing>('keep')
  const change = useMutation({
    mutationFn: () =>
      call(rule.paused ? 'POST /v1/rules/{rule_id}/resume' : 'POST /v1/rules/{rule_id}/pause', {
        path: { rule_id: rule.rule_id },
        query: { existing }
      }),
    onSuccess: () => setAsking(false)
  })
  return (
    <>
      <Button
        variant="default"
        loading={change.isPending}
        onClick={() => (rule.paused || open === 0 ? change.mutate() : setAsking(true))}
      >
        {rule.paused ? text.rules.resume : text.rules.pause}
      </Button>
      <ConfirmDialog
        title={text.existing.pause(nameOf(rule))}
        action={text.rules.pause}
        isOpen={isAsking}
        isBusy={change.isPending}
        onClose={() => setAsking(false)}
        onConfirm={() => change.mutate()}
      >
        {isAsking && <OpenConnections rules={[rule]} />}
        <ExistingSelect value={existing} onChange={setExisting} />
      </ConfirmDialog>
    </>
  )
}
