import { useQuery } from '@tanstack/react-query'
import { useCallback } from 'react'
import { call } from '../../../api/call.ts'
import { count } from '../../../format.ts'
import { text } from '../../../text/text.ts'
import type { ChartsOf } from '../../traffic/HistoryCharts.tsx'
import { openedChart, refusedChart, speedChart } from '../../traffic/history-charts.ts'
import { bucketsOf, stepOf } from '../../traffic/traffic-history.ts'
import type { Rule } from '../queries.ts'
import { downDuring, outagesIn } from './target-history.ts'

const maxEntries = 500
const lines = [{ name: text.ruleDetail.down, color: '--line-bad' }]

/** Returns the charts of a rule: throughput, opened and refused connections, and targets that were down. */
export function useRuleCharts({ rule_id, created_at }: Rule): ChartsOf {
  const { data: entries } = useQuery({
    queryKey: ['journal', rule_id, 'target'],
    queryFn: () =>
      call('GET /v1/rules/{rule_id}/journal', {
        path: { rule_id },
        query: { kind: 'target', limit: maxEntries }
      })
  })
  return useCallback(
    history => {
      const charts = [speedChart(history), openedChart(history), refusedChart(history)]
      if (entries === undefined) return charts
      const oldest = entries.length < maxEntries ? created_at : (entries.at(-1)?.ts ?? created_at)
      const since = Date.parse(oldest) / 1000
      const outages = outagesIn(entries)
      const secs = stepOf(history)
      const points = bucketsOf(history).map(at => ({
        at,
        values: [at + secs <= since ? null : downDuring(outages, at, secs)]
      }))
      return [...charts, { title: text.ruleDetail.health, lines, points, format: count, isHistory: true }]
    },
    [entries, created_at]
  )
}
