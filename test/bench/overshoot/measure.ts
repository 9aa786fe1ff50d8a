import { setTimeout } from 'node:timers/promises'
import type { Event } from '../../support/process.ts'
import type { Place } from './stage.ts'

const quietMs = 300
const MiB = 1024 * 1024
export const allowed = 64 * 1024 // bytes over, of a live connection

/** Bytes beyond the size: at the receivers, and, once they are asked for, in the books. */
export interface Overshoot {
  readonly received: number
  booked(): Promise<number>
}

/** All of it at full speed, until nothing comes any more. */
export async function exhaust(place: Place, count: number, size: number): Promise<Overshoot> {
  await place.quota('PUT', { monthly_bytes: size })
  const isMine = (event: Event): boolean => event['user'] === place.user
  const empty = place.agent.until('traffic_quota.exhausted', isMine)
  const pour = place.pour(count)
  await empty
  for (let before = -1; before !== pour.received(); await setTimeout(quietMs)) before = pour.received()
  pour.end()
  return {
    received: pour.received() - size,
    async booked() {
      for (let before = -1; ; await setTimeout(1000)) {
        const { exhausted, bytes_used } = await place.status()
        if (exhausted && bytes_used === before) return bytes_used - size
        before = bytes_used
      }
    }
  }
}

/**
 * A size that grows, and usage that is cleared, while bytes run at full speed. Throws where more passes than is left.
 * Answers the bytes over at the end, and those that were counted and did not come.
 */
export async function race(place: Place, changes: number, connections: number) {
  let size = MiB
  let row = await place.quota('PUT', { monthly_bytes: size })
  const pour = place.pour(connections)
  for (let i = 0; i < changes; i++) {
    const isClear = i % 100 === 99
    if (!isClear) size += Math.floor(Math.random() * 512 * 1024)
    const body = isClear ? { clear_period_usage: true } : { monthly_bytes: size }
    row = await place.quota(i % 2 === 0 || isClear ? 'PATCH' : 'PUT', body)
    const over = row.bytes_used - size
    if (over > connections * allowed)
      throw new Error(`after ${i} changes ${over} bytes too many were granted`)
    if (isClear && row.bytes_used !== 0) throw new Error(`${row.bytes_used} bytes were not cleared`)
  }
  for (let before = -1; before !== pour.received() || !row.exhausted; row = await place.status()) {
    before = pour.received()
    await setTimeout(6000) // more than a report is away
  }
  const received = pour.received()
  pour.end()
  return { over: row.bytes_used - size, lost: (await place.booked()) - received }
}
