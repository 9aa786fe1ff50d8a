import { Paper, SimpleGrid, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import { bytes, count, rate } from '../../format.ts'
import { Head } from '../../parts/Head.tsx'
import { Loaded } from '../../parts/Loaded.tsx'
import { text } from '../../text/text.ts'
import { FirstSteps } from './FirstSteps.tsx'
import { useRate } from './use-rate.ts'

export default function Overview() {
  const summary = useQuery({ queryKey: ['summary'], queryFn: () => call('GET /v1/stats/summary') })
  const toTargets = useRate(summary.data?.bytes_in, summary.dataUpdatedAt)
  const toCallers = useRate(summary.data?.bytes_out, summary.dataUpdatedAt)
  return (
    <>
      <Head title={text.pages.overview} />
      <Loaded query={summary}>
        {({ clients, rules, active_connections, bytes_in, bytes_out }) => (
          <>
            <SimpleGrid cols={{ base: 2, md: 5 }} mb="xl">
              <Figure
                name={text.overview.edges}
                value={`${count(clients.connected)} / ${count(clients.total)}`}
              />
              <Figure
                name={text.overview.rules}
                value={`${count(rules.active)} / ${count(rules.total)}`}
                note={rules.failed > 0 ? text.overview.rulesFailed(count(rules.failed)) : null}
              />
              <Figure name={text.overview.connections} value={count(active_connections)} />
              <Figure
                name={text.overview.toTargets}
                value={rate(toTargets)}
                note={text.overview.total(bytes(bytes_in))}
              />
              <Figure
                name={text.overview.toCallers}
                value={rate(toCallers)}
                note={text.overview.total(bytes(bytes_out))}
              />
            </SimpleGrid>
            {bytes_in + bytes_out === 0 && rules.total <= 1 && <FirstSteps />}
          </>
        )}
      </Loaded>
    </>
  )
}

interface FigureProps {
  readonly name: string
  readonly value: string
  readonly note?: string | null
}

const Figure = ({ name, value, note }: FigureProps) => (
  <Paper withBorder p="md">
    <Text size="sm" c="dimmed">
      {name}
    </Text>
    <div className="figure">{value}</div>
    <Text size="sm" c="dimmed" mih="1.5em">
      {note}
    </Text>
  </Paper>
)
