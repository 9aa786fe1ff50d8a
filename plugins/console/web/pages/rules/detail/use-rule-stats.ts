import { useState } from 'react'
import type { Reply } from '../../../api/call.ts'
import { useEvents } from '../../../api/use-events.ts'
import {
  nothingAt,
  type Point,
  type Reading,
  rateOf,
  withPoint,
  withReading
} from '../../../parts/chart/points.ts'
import type { Rule } from '../queries.ts'

export type Stats = Reply<'GET /v1/rules/{rule_id}/stats'>

interface Heard {
  readonly stats: Stats | null
  readonly readings: readonly Reading[]
  readonly speed: readonly Point[]
  readonly connections: readonly Point[]
  readonly isRemoved: boolean
}

const nothing: Heard = { stats: null, readings: [], speed: [], connections: [], isRemoved: false }
const gapSecs = 12 // two events of the stream, and a little

/** What the rule forwards, as the server streams it every 5 s. While its edge is away nothing is known. */
export function useRuleStats({ rule_id, client_id, listen_port_end }: Rule, away: boolean): Heard {
  const [heard, setHeard] = useState(nothing)
  const wanted = new URLSearchParams({
    per_target: 'true',
    ...(listen_port_end !== null && { per_port: 'true' }),
    ...(client_id === null && { per_client: 'true' })
  })
  useEvents<Stats>(`/v1/rules/${rule_id}/stats/stream?${wanted}`, ['stats', 'removed'], (stats, name) =>
    setHeard(before => (name === 'removed' ? { ...before, isRemoved: true } : after(before, stats, away)))
  )
  return heard
}

function after(before: Heard, stats: Stats, away: boolean): Heard {
  const now = Date.now()
  const at = now / 1000
  if (away)
    return {
      ...before,
      stats,
      readings: [],
      speed: withPoint(before.speed, nothingAt(at, 2), gapSecs),
      connections: withPoint(before.connections, nothingAt(at, 1), gapSecs)
    }
  const readings = withReading(before.readings, { at: now, totals: [stats.bytes_in, stats.bytes_out] })
  const rates = rateOf(readings)
  return {
    ...before,
    stats,
    readings,
    speed: rates === null ? before.speed : withPoint(before.speed, { at, values: rates }, gapSecs),
    connections: withPoint(
      before.connections,
      { at, values: [stats.active_connections + stats.active_flows] },
      gapSecs
    )
  }
}
