import { Text } from '@mantine/core'
import type { Reply } from '../../../api/call.ts'
import { isUlid } from '../../../format.ts'
import { Dot } from '../../../parts/Dot.tsx'
import { PlainTable } from '../../../parts/PlainTable.tsx'
import { StateLabel } from '../../../parts/StateLabel.tsx'
import { text } from '../../../text/text.ts'
import { addressOf } from '../queries.ts'

type ExplainReply = Reply<'POST /v1/explain'>

/** The result of an explain request: outcome, decisions in order, and probed targets. */
export function Explanation({ result }: { readonly result: ExplainReply }) {
  const { outcome, decided_by, steps, targets } = result
  return (
    <>
      <Text fw={600}>
        <Dot tone={tones[outcome]} />
        {text.explain.outcomes[outcome]}{' '}
        <Text span c="dimmed">
          {text.explain.decidedBy(
            decided_by.kind,
            shownId(decided_by.id),
            text.reasons[decided_by.reason] ?? decided_by.reason
          )}
        </Text>
      </Text>
      <ol className="steps">
        {steps.map(({ kind, id, verdict, text: sentence }, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: steps have no id
          <li key={i} data-verdict={verdict}>
            <strong>{text.explain.verdicts[verdict]}</strong> {sentence}
            <Text span size="xs" c="dimmed">
              {' '}
              {kind} {shownId(id)}
            </Text>
          </li>
        ))}
      </ol>
      {targets.length > 0 && <ProbedTargets targets={targets} />}
    </>
  )
}

/** Ids of records are omitted, ports and addresses are shown. */
const shownId = (id: string | null | undefined): string => (id == null || isUlid(id) ? '' : id)

const tones = { forwarded: 'good', refused: 'bad', no_rule: 'bad', unknown: 'warn' } as const

const ms = (value: number | null | undefined): string => (value == null ? '–' : `${value.toFixed(1)} ms`)

const ProbedTargets = ({ targets }: Pick<ExplainReply, 'targets'>) => (
  <PlainTable
    label={text.explain.tried}
    columns={[
      { title: text.connections.target },
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
          <StateLabel key="state" state={target.connect_ms === null ? 'unknown' : 'connected'} />
        ) : (
          <>
            <Dot tone="bad" />
            {text.reasons[target.error] ?? target.error}
          </>
        )
      ]
    }))}
  />
)
