import { useState } from 'react'
import { EmptyState } from '../../parts/EmptyState.tsx'
import { QuerySection } from '../../parts/page/QuerySection.tsx'
import { text } from '../../text/text.ts'
import { type ChartsOf, HistoryCharts } from './HistoryCharts.tsx'
import { RangeSelect } from './RangeSelect.tsx'
import { type Choice, type Range, useTrafficHistory } from './traffic-history.ts'

interface Props {
  readonly of: Omit<Choice, 'range'>
  readonly chartsOf?: ChartsOf
}

/** A section with the history of a rule, a client, a user or everything, and the choice of its span. */
export function TrafficHistory({ of, chartsOf }: Props) {
  const [range, setRange] = useState<Range>('day')
  const history = useTrafficHistory({ ...of, range })
  return (
    <QuerySection
      query={history}
      title={text.pages.traffic}
      actions={<RangeSelect value={range} onChange={setRange} />}
    >
      {found =>
        found.samples.length === 0 ? (
          <EmptyState what={text.traffic.empty} />
        ) : (
          <HistoryCharts history={found} {...(chartsOf && { chartsOf })} />
        )
      }
    </QuerySection>
  )
}
