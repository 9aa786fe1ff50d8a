// Validates limits, and encodes them for the agent. Only this file converts bits to bytes.
import { type Static, Type } from 'typebox'
import { defineCode, Fault } from '../../kernel/base/errors.ts'
import { eachLimit, limitNames } from './limit-names.ts'
import type { Limits } from './wire.ts'

export const limitRange = defineCode('validation.rate_limit_range', 400, 3)
export const burstWithoutRate = defineCode('validation.rate_limit_burst_without_rate', 400, 3)

const Positive = (description: string) =>
  Type.Optional(
    Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, code: limitRange.code, description })
  )

export const properties = eachLimit(Positive)

export const RateLimit = Type.Object(properties, {
  $id: 'RateLimit',
  additionalProperties: false,
  examples: [{ bandwidth_out_bps: 50_000_000, concurrent_connections: 100 }]
})
export type RateLimit = Static<typeof RateLimit>

const rateOfBurst: Partial<Record<keyof RateLimit, keyof RateLimit>> = {
  bandwidth_in_burst_bytes: 'bandwidth_in_bps',
  bandwidth_out_burst_bytes: 'bandwidth_out_bps',
  new_connections_burst: 'new_connections_per_sec'
}

/** Returns the limits with sorted keys, so that equal limits are equal text; null if there are none. */
export function parseLimits(given: RateLimit, pointer: string): RateLimit | null {
  for (const [burst, rate] of Object.entries(rateOfBurst))
    if (burst in given && !(rate in given))
      throw new Fault(burstWithoutRate, `${pointer}/${burst} needs ${pointer}/${rate}`, {
        details: { field: `${pointer}/${burst}`, reason: 'without_rate' }
      })
  const present = limitNames.filter(name => given[name] !== undefined)
  return present.length === 0 ? null : Object.fromEntries(present.map(name => [name, given[name]]))
}

const bitsPerByte = 8
const minBurstBytes = 16 * 1024

export const encodeLimits = (limit: RateLimit): Limits => {
  const { concurrent_connections: connections, new_connections_per_sec: perSec } = limit
  const bytesIn = byteRate(limit.bandwidth_in_bps, limit.bandwidth_in_burst_bytes)
  const bytesOut = byteRate(limit.bandwidth_out_bps, limit.bandwidth_out_burst_bytes)
  return {
    ...(bytesIn && { bytes_in: bytesIn }),
    ...(bytesOut && { bytes_out: bytesOut }),
    ...(connections !== undefined && { connections }),
    ...(perSec !== undefined && {
      new_connections: { per_sec: perSec, burst: limit.new_connections_burst ?? perSec }
    })
  }
}

function byteRate(bps: number | undefined, burst: number | undefined): Limits['bytes_in'] {
  if (bps === undefined) return undefined
  const perSec = bps / bitsPerByte
  return { per_sec: perSec, burst: burst ?? Math.max(minBurstBytes, Math.round(perSec / 10)) }
}
