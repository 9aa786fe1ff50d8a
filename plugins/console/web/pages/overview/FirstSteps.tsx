import { Button, Group, Loader, Paper, Stack, Text, ThemeIcon, Title } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { call } from '../../api/call.ts'
import { useRight } from '../../api/rights.ts'
import { bytes, count } from '../../format.ts'
import { Command } from '../../parts/Command.tsx'
import { FormError } from '../../parts/form/FormError.tsx'
import { QueryResult } from '../../parts/QueryResult.tsx'
import { text } from '../../text/text.ts'
import { AddClient } from '../clients/AddClient.tsx'
import { type Client, useClients } from '../clients/queries.ts'
import { Explanation } from '../rules/detail/Explanation.tsx'
import { explainQuestion } from '../rules/detail/explain-question.ts'
import { CreateForm } from '../rules/form/NewRule.tsx'
import { emptyRule } from '../rules/form/rule-values.ts'
import { type Rule, useRules } from '../rules/queries.ts'

/** Guides from an empty server to the first forwarded byte. The state of the server checks off each step. */
export default function FirstSteps() {
  const clients = useClients()
  const rules = useRules()
  return (
    <section>
      <Title order={2} size="h4" mb="md">
        {text.overview.welcome}
      </Title>
      <QueryResult query={clients}>
        {foundClients => (
          <QueryResult query={rules}>
            {foundRules => <Steps clients={foundClients} rules={foundRules} />}
          </QueryResult>
        )}
      </QueryResult>
    </section>
  )
}

function Steps({ clients, rules }: { readonly clients: readonly Client[]; readonly rules: readonly Rule[] }) {
  const mayAdd = useRight('managesAll')
  const hasClient = clients.some(({ connected }) => connected)
  const usable = clients.filter(({ state }) => state !== 'revoked')
  const rule = rules.findLast(({ state }) => state === 'active')
  return (
    <div className="first-steps">
      <Step
        at={1}
        title={text.overview.stepClient}
        note={text.overview.stepClientText}
        isDone={hasClient}
        isNow={!hasClient}
      >
        {mayAdd ? <AddClient /> : <Text>{text.overview.noneGranted}</Text>}
      </Step>
      <Step
        at={2}
        title={text.overview.stepRule}
        note={text.overview.stepRuleText}
        isDone={rule !== undefined}
        isNow={hasClient && !rule}
      >
        <CreateForm clients={usable} initial={emptyRule(usable)} schemas={null} />
      </Step>
      <Step
        at={3}
        title={text.overview.stepUse}
        note={text.overview.stepUseText}
        isDone={false}
        isNow={rule !== undefined}
      >
        {rule && <Use rule={rule} clients={clients} />}
      </Step>
    </div>
  )
}

interface StepProps {
  readonly at: number
  readonly title: string
  readonly note: string
  readonly isDone: boolean
  readonly isNow: boolean
  readonly children: ReactNode
}

const Step = ({ at, title, note, isDone, isNow, children }: StepProps) => (
  <Paper withBorder p="lg" aria-current={isNow ? 'step' : undefined}>
    <Group align="start" wrap="nowrap">
      <ThemeIcon radius="xl" variant={isNow ? 'filled' : 'default'} aria-hidden="true">
        {isDone ? '✓' : at}
      </ThemeIcon>
      <Stack flex={1} gap="xs" miw={0}>
        <Title order={3} size="h5">
          {title}
        </Title>
        <Text c="dimmed">{note}</Text>
        {isNow && children}
      </Stack>
    </Group>
  </Paper>
)

/** The command to try, and the forwarded traffic. */
function Use({ rule, clients }: { readonly rule: Rule; readonly clients: readonly Client[] }) {
  const { rule_id, client_id, listen_port, protocol } = rule
  const client = clients.find(found => found.client_id === client_id)
  const host = client?.address ?? client?.remote_addr?.replace(/:\d+$/, '') ?? client?.client_name ?? ''
  const stats = useQuery({
    queryKey: ['rule-stats', rule_id],
    queryFn: () => call('GET /v1/rules/{rule_id}/stats', { path: { rule_id } })
  })
  const test = useMutation({
    meta: { shown: true },
    mutationFn: () =>
      call('POST /v1/explain', { body: { ...explainQuestion(rule), probe: true, test_byte: true } })
  })
  const { connections_total = 0, bytes_in = 0, bytes_out = 0 } = stats.data ?? {}
  return (
    <Stack gap="sm">
      <Group>
        <Button loading={test.isPending} onClick={() => test.mutate()}>
          {text.overview.test}
        </Button>
        <Text size="sm" c="dimmed">
          {text.overview.testText}
        </Text>
      </Group>
      <FormError error={test.error} />
      {test.data && (
        <div role="status">
          <Explanation result={test.data} />
        </div>
      )}
      <Command value={`nc ${protocol === 'udp' ? '-u ' : ''}${host} ${listen_port}`} />
      <Group gap="xs" role="status">
        {connections_total === 0 ? (
          <>
            <Loader size="xs" aria-hidden="true" />
            <Text>{text.overview.waiting}</Text>
          </>
        ) : (
          <Text fw={600}>
            {text.overview.forwarded(count(connections_total), bytes(bytes_in + bytes_out))}
          </Text>
        )}
      </Group>
    </Stack>
  )
}
