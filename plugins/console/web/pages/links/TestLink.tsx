import { Button, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { call, type Reply } from '../../api/call.ts'
import { rate } from '../../format.ts'
import { Dot } from '../../parts/Dot.tsx'
import { Facts } from '../../parts/Facts.tsx'
import { FormError } from '../../parts/form/FormError.tsx'
import { text } from '../../text/text.ts'
import { milliseconds, reasonOf } from './link-columns.tsx'
import type { Link } from './queries.ts'

const limits = { bytes: 8 * 1024 ** 2, secs: 2 }

/** Measures a link when asked to. */
export function TestLink({ link: { link_id } }: { readonly link: Link }) {
  const test = useMutation({
    meta: { shown: true },
    mutationFn: () => call('POST /v1/links/{link_id}/test', { path: { link_id }, body: limits })
  })
  return (
    <Stack>
      <Text size="sm">{text.links.testHint}</Text>
      <div role="status">{test.data && <Result result={test.data} />}</div>
      <FormError error={test.error} />
      <Button loading={test.isPending} onClick={() => test.mutate()} style={{ alignSelf: 'start' }}>
        {test.data ? text.links.testAgain : text.links.test}
      </Button>
    </Stack>
  )
}

type TestResult = Reply<'POST /v1/links/{link_id}/test'>

const speed = (bps: number | null): string => (bps === null ? '–' : rate(bps / 8))

function Result({ result }: { readonly result: TestResult }) {
  const { error, rtt_ms, handshake_ms, up_bps, down_bps } = result
  const why = reasonOf({ state_reason: error })
  return (
    <Stack gap="sm">
      <Text fw={600}>
        <Dot tone={error === null ? 'good' : 'bad'} />
        {error === null ? text.links.testGood : `${text.links.testFailed}: ${why}`}
      </Text>
      <Facts
        facts={[
          { name: text.links.rtt, value: milliseconds(rtt_ms) },
          { name: text.links.handshake, value: milliseconds(handshake_ms) },
          { name: text.links.up, value: speed(up_bps) },
          { name: text.links.down, value: speed(down_bps) }
        ]}
      />
    </Stack>
  )
}
