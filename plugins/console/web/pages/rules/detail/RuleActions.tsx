import { Button } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useMutation } from '@tanstack/react-query'
import { Link, useLocation } from 'wouter'
import { call } from '../../../api/call.ts'
import { notify } from '../../../app/notices.ts'
import { text } from '../../../text/text.ts'
import { type DeletedExisting, DeleteRules } from '../DeleteRules.tsx'
import { nameOf, type Rule } from '../queries.ts'
import { PauseRule } from './PauseRule.tsx'

interface Props {
  readonly rule: Rule
  readonly open: number | null // connections and flows; null: not known yet
}

export function RuleActions({ rule, open: openConnections }: Props) {
  const [isOpen, { open, close }] = useDisclosure()
  const [, go] = useLocation()
  const path = { rule_id: rule.rule_id }
  const remove = useMutation({
    mutationFn: async (existing: DeletedExisting) => {
      if (existing === 'cut') await call('POST /v1/rules/{rule_id}/pause', { path, query: { existing } })
      return call('DELETE /v1/rules/{rule_id}', { path })
    },
    onSuccess: () => {
      notify(text.ruleDetail.deleted(nameOf(rule)))
      go('/rules')
    }
  })
  return (
    <>
      <PauseRule rule={rule} open={openConnections} />
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
        onConfirm={existing => remove.mutate(existing)}
      />
    </>
  )
}
