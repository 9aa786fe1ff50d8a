import { Button } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../../api/call.ts'
import { text } from '../../../text/text.ts'
import type { Existing } from '../ExistingSelect.tsx'
import { PauseDialog } from '../PauseDialog.tsx'
import type { Rule } from '../queries.ts'

interface Props {
  readonly rule: Rule
  readonly open: number | null // connections and flows; null: not known yet
}

/** Pauses or resumes the rule. With open connections, it asks what happens to them. */
export function PauseRule({ rule, open }: Props) {
  const [isAsking, setAsking] = useState(false)
  const change = useMutation({
    mutationFn: (existing: Existing) =>
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
        onClick={() => (rule.paused || open === 0 ? change.mutate('keep') : setAsking(true))}
      >
        {rule.paused ? text.rules.resume : text.rules.pause}
      </Button>
      <PauseDialog
        rules={[rule]}
        isOpen={isAsking}
        isBusy={change.isPending}
        onClose={() => setAsking(false)}
        onConfirm={existing => change.mutate(existing)}
      />
    </>
  )
}
