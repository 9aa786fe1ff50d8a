import { Paper, SimpleGrid, Text } from '@mantine/core'
import { lazy, Suspense } from 'react'
import { useMe } from '../../api/me.ts'
import { useRight } from '../../api/rights.ts'
import { bytes, count, rate } from '../../format.ts'
import { PageHead } from '../../parts/page/PageHead.tsx'
import { PageLink } from '../../parts/page/PageLink.tsx'
import { Loading, QueryResult } from '../../parts/QueryResult.tsx'
import { text } from '../../text/text.ts'
import { TrafficHistory } from '../traffic/TrafficHistory.tsx'
import { Attention } from './Attention.tsx'
import { RecentChanges } from './RecentChanges.tsx'
import { TopTraffic } from './TopTraffic.tsx'
import { useAttention } from './use-attention.ts'
import { type Summary, useSummary } from './use-summary.ts'
import { useThroughput } from './use-throughput.ts'
import { Versions } from './Versions.tsx'

const FirstSteps = lazy(() => import('./FirstSteps.tsx')) // only an empty server needs the form of a rule

export default function Overview() {
  const summary = useSummary()
  const mayStart = useRight('changesRules')
  const attention = useAttention()
  return (
    <>
      <PageHead title={text.pages.overview} problems={attention.lines.length} />
      <QueryResult query={summary}>
        {found =>
          mayStart && isNew(found) ? (
            <Suspense fallback={<Loading />}>
              <FirstSteps />
            </Suspense>
          ) : (
            <Running summary={found} readAt={summary.dataUpdatedAt} attention={attention} />
          )
        }
      </QueryResult>
    </>
  )
}

const isNew = ({ bytes_in, bytes_out, rules }: Summary): boolean =>
  bytes_in + bytes_out === 0 && rules.total <= 1

interface RunningProps {
  readonly summary: Summary
  readonly readAt: number
  readonly attention: ReturnType<typeof useAttention>
}

function Running({ summary, readAt, attention }: RunningProps) {
  const { clients, rules, active_connections, bytes_in, bytes_out } = summary
  const seesAll = useRight('seesAll')
  const me = useMe().data
  const of = { user: seesAll ? '' : (me?.user_id ?? ''), client: '' }
  const [rateIn, rateOut] = useThroughput(summary, readAt, of) ?? []
  const show = (value: number | undefined): string => (value === undefined ? '–' : rate(value))
  return (
    <>
      <Attention {...attention} />
      <SimpleGrid cols={{ base: 2, md: 5 }} mb="xl" className="figures">
        <Figure
          name={text.overview.clients}
          value={`${count(clients.connected)} / ${count(clients.total)}`}
          to="/clients"
        />
        <Figure
          name={text.overview.rules}
          value={`${count(rules.active)} / ${count(rules.total)}`}
          to="/rules?state=active"
        />
        <Figure name={text.overview.connections} value={count(active_connections)} to="/connections" />
        <Figure
          name={text.overview.trafficIn}
          value={show(rateIn)}
          note={text.overview.total(bytes(bytes_in))}
          to="/traffic"
        />
        <Figure
          name={text.overview.trafficOut}
          value={show(rateOut)}
          note={text.overview.total(bytes(bytes_out))}
          to="/traffic"
        />
      </SimpleGrid>
      <TrafficHistory of={of} />
      <TopTraffic />
      {seesAll && (
        <div className="wide-and-narrow">
          <RecentChanges />
          <Versions />
        </div>
      )}
    </>
  )
}

interface FigureProps {
  readonly name: string
  readonly value: string
  readonly note?: string
  readonly to: string // the list that it counts
}

const Figure = ({ name, value, note, to }: FigureProps) => (
  <Paper withBorder p="md">
    <Text size="sm" c="dimmed">
      <PageLink to={to}>{name}</PageLink>
    </Text>
    <div className="figure">{value}</div>
    <Text size="sm" c="dimmed" mih="1.5em">
      {note}
    </Text>
  </Paper>
)
