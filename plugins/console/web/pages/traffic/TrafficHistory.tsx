import { useState } from 'react'
import { EmptyState } from '../../parts/EmptyState.tsx'
import { Section } from '../../parts/page/Section.tsx'
import { QueryResult } from '../../parts/QueryResult.tsx'
import { text } from '../../text/text.ts'
import { HistoryCharts } from './HistoryCharts.tsx'
import { RangeSelect } from './RangeSelect.tsx'
import { type Choice, type Range, useTrafficHistory } from './traffic-history.ts'

/** A section with the history of a rule, a client, a user or everything, and the choice of its span. */
export function TrafficHistory({ of }: { readonly of: Omit<Choice, 'range'> }) {
  const [range, setRange] = useState<Range>('day')
  const history = useTrafficHistory({ ...of, range })
  return (
    <Section title={text.pages.traffic} actions={<RangeSelect value={range} onChange={setRange} />}>
      <QueryResult query={history}>
        {found =>
          found.samples.length === 0 ? (
            <EmptyState what={text.traffic.empty} />
          ) : (
            <HistoryCharts history={found} />
          )
        }
      </QueryResult>
    </Section>
  )
}
