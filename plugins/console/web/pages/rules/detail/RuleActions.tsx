import { Button } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useMutation } from '@tanstack/react-query'
import { Link, useLocation } from 'wouter'
import { call } from '../../../api/call.ts'
import { notify } from '../../../app/notices.ts'
import { text } from '../../../text/text.ts'
import { DeleteRules } from '../DeleteRules.tsx'
import { nameOf, type Rule } from '../queries.ts'

export function RuleActions({ rule }: { readonly rule: Rule }) {
  const [isOpen, { open, close }] = useDisclosure()
  const [, go] = useLocation()
  const path = { rule_id: rule.rule_id }
  const pause = useMutation({
    mutationFn: () =>
      call(rule.paused ? 'POST /v1/rules/{rule_id}/resume' : 'POST /v1/rules/{rule_id}/pause', { path })
  })
  const remove = useMutation({
    mutationFn: () => call('DELETE /v1/rules/{rule_id}', { path }),
    onSuccess: () => {
      notify(text.ruleDetail.deleted(nameOf(rule)))
      go('/rules')
    }
  })
  return (
    <>
      <Button variant="default" loading={pause.isPending} onClick={() => pause.mutate()}>
        {rule.paused ? text.rules.resume : text.rules.pause}
      </Button>
      <Button component={Link} href={`/rules/${rule.rule_id}/edit`} variant="default">
        {text.ruleDetail.edit}
      </Button>
      <Button component={Link} href={`/rules/new?like=${rule.rule_id}`} variant="default">
        {text.ruleDetail.duplicate}
      </Button>
      <Button variant="default" c="var(--bad)" onClick={open}>
        {text.rules.delete}
      </Button>
      <DeleteRules
        rules={[rule]}
        isOpen={isOpen}
        isBusy={remove.isPending}
        onClose={close}
        onConfirm={() => remove.mutate()}
      />
    </>
  )
}
