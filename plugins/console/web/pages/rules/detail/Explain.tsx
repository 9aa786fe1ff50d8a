import {
  Button,
  Checkbox,
  Group,
  NativeSelect,
  NumberInput,
  Paper,
  Stack,
  Text,
  TextInput
} from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { call, type Reply } from '../../../api/client.ts'
import { fieldError } from '../../../parts/field-error.ts'
import { PlainTable } from '../../../parts/PlainTable.tsx'
import { Refusal } from '../../../parts/Refusal.tsx'
import { State } from '../../../parts/State.tsx'
import { text } from '../../../text/text.ts'
import { addressOf, type Rule } from '../queries.ts'

type Explanation = Reply<'POST /v1/explain'>

/** Asks what becomes of a caller of the rule's port, and shows what decides it. */
export function Explain({ rule }: { readonly rule: Rule }) {
  const edges = rule.client_id === null ? (rule.edges ?? []) : []
  const [client, setClient] = useState(rule.client_id ?? edges[0]?.client_id ?? '')
  const [port, setPort] = useState<number | string>(rule.listen_port)
  const [source, setSource] = useState('')
  const [sni, setSni] = useState(rule.sni_pattern?.startsWith('*') === false ? rule.sni_pattern : '')
  const [probe, setProbe] = useState(true)
  const [dry, setDry] = useState(false)
  const ask = useMutation({
    meta: { shown: true },
    mutationFn: () =>
      call('POST /v1/explain', {
        body: {
          client,
          port: Number(port),
          protocol: rule.protocol === 'udp' ? 'udp' : 'tcp',
          probe,
          dry: probe && dry,
          ...(source.trim() !== '' && { source: source.trim() }),
          ...(sni.trim() !== '' && { sni: sni.trim() })
        }
      })
  })
  const told = (name: string) => fieldError(ask.error, name)
  return (
    <Paper withBorder p="md">
      <form
        onSubmit={event => {
          event.preventDefault()
          ask.mutate()
        }}
      >
        <Group align="end" gap="md">
          {edges.length > 0 && (
            <NativeSelect
              label={text.rules.edge}
              data={edges.map(edge => ({ value: edge.client_id, label: edge.client_name }))}
              value={client}
              onChange={event => setClient(event.currentTarget.value)}
            />
          )}
          {rule.listen_port_end !== null && (
            <NumberInput
              label={text.explain.port}
              value={port}
              onChange={setPort}
              error={told('port')}
              hideControls
              w={110}
            />
          )}
          <TextInput
            label={text.explain.source}
            placeholder={text.explain.anybody}
            value={source}
            onChange={event => setSource(event.currentTarget.value)}
            error={told('source')}
          />
          {rule.protocol === 'tcp' && (
            <TextInput
              label={text.explain.sni}
              placeholder={text.explain.noSni}
              value={sni}
              onChange={event => setSni(event.currentTarget.value)}
              error={told('sni')}
            />
          )}
          <Checkbox
            label={text.explain.probe}
            checked={probe}
            onChange={event => setProbe(event.currentTarget.checked)}
            mb={8}
          />
          <Checkbox
            label={text.explain.dry}
            checked={dry}
            disabled={!probe}
            onChange={event => setDry(event.currentTarget.checked)}
            mb={8}
          />
          <Button type="submit" loading={ask.isPending}>
            {text.explain.submit}
          </Button>
        </Group>
        <Stack mt="md" gap="md" aria-live="polite">
          <Refusal error={ask.error} fields={['port', 'source', 'sni']} />
          {ask.data && <Answer told={ask.data} />}
        </Stack>
      </form>
    </Paper>
  )
}

export function Answer({ told: { outcome, decided_by, steps, targets } }: { readonly told: Explanation }) {
  return (
    <>
      <Text fw={600}>
        <span className="dot" data-tone={toneOf[outcome]} aria-hidden="true" />
        {text.explain.outcomes[outcome]}{' '}
        <Text span c="dimmed">
          {text.explain.decidedBy(
            decided_by.kind,
            decided_by.id,
            text.reasons[decided_by.reason] ?? decided_by.reason
          )}
        </Text>
      </Text>
      <ol className="steps">
        {steps.map(({ kind, id, verdict, text: sentence }, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: steps have no name but their place
          <li key={i} data-verdict={verdict}>
            <strong>{text.explain.verdicts[verdict]}</strong> {sentence}
            <Text span size="xs" c="dimmed">
              {' '}
              {kind} {id}
            </Text>
          </li>
        ))}
      </ol>
      {targets.length > 0 && <Probed targets={targets} />}
    </>
  )
}

const toneOf = { forwarded: 'good', refused: 'bad', no_rule: 'bad', unknown: 'warn' } as const

const ms = (value: number | null | undefined): string => (value == null ? '–' : `${value.toFixed(1)} ms`)

const Probed = ({ targets }: Pick<Explanation, 'targets'>) => (
  <PlainTable
    label={text.rules.targets}
    columns={[
      { title: text.rules.targets },
      { title: text.explain.address },
      { title: text.explain.dns, numeric: true },
      { title: text.explain.connect, numeric: true },
      { title: text.explain.firstByte, numeric: true },
      { title: text.explain.result }
    ]}
    rows={targets.map((target, i) => ({
      key: `${addressOf(target)} ${i}`,
      cells: [
        addressOf(target),
        [target.address, target.tls_name].filter(Boolean).join(' · ') || '–',
        ms(target.dns_ms),
        ms(target.connect_ms),
        ms(target.first_byte_ms),
        target.error === undefined ? (
          <State key="state" of={target.connect_ms === null ? 'unknown' : 'healthy'} />
        ) : (
          <>
            <span className="dot" data-tone="bad" aria-hidden="true" />
            {text.reasons[target.error] ?? target.error}
          </>
        )
      ]
    }))}
  />
)
