import { setTimeout } from 'node:timers/promises'
import type { Event } from '../../support/process.ts'
import type { QuotaRule } from './overshoot-fixture.ts'

const quietMs = 300
const MiB = 1024 * 1024
export const allowedBytes = 64 * 1024 // per live connection

/** Bytes over the quota, as received and as committed by the server. */
export interface Overshoot {
  readonly received: number
  committed(): Promise<number>
}

/** Uses up the quota at full speed, until no more bytes arrive. */
export async function exhaust(rule: QuotaRule, count: number, size: number): Promise<Overshoot> {
  await rule.quota('PUT', { monthly_bytes: size })
  const isOfUser = (event: Event): boolean => event['user'] === rule.user
  const exhausted = rule.agent.until('traffic_quota.exhausted', isOfUser)
  const load = rule.startLoad(count)
  await exhausted
  for (let before = -1; before !== load.received(); await setTimeout(quietMs)) before = load.received()
  load.end()
  return {
    received: load.received() - size,
    async committed() {
      for (let before = -1; ; await setTimeout(1000)) {
        const { exhausted, bytes_used } = await rule.status()
        if (exhausted && bytes_used === before) return bytes_used - size
        before = bytes_used
      }
    }
  }
}

/**
 * Raises the quota and clears its usage while bytes flow at full speed. Throws if usage exceeds the quota by more than
 * `allowedBytes` per connection, or if a clear leaves usage. Returns the bytes over the quota at the end, and the bytes
 * that were committed but not received.
 */
export async function race(rule: QuotaRule, changes: number, connections: number) {
  let size = MiB
  let row = await rule.quota('PUT', { monthly_bytes: size })
  const load = rule.startLoad(connections)
  for (let i = 0; i < changes; i++) {
    const isClear = i % 100 === 99
    if (!isClear) size += Math.floor(Math.random() * 512 * 1024)
    const body = isClear ? { clear_period_usage: true } : { monthly_bytes: size }
    row = await rule.quota(i % 2 === 0 || isClear ? 'PATCH' : 'PUT', body)
    const over = row.bytes_used - size
    if (over > connections * allowedBytes)
      throw new Error(`after ${i} changes the quota was exceeded by ${over} bytes`)
    if (isClear && row.bytes_used !== 0) throw new Error(`${row.bytes_used} bytes were not cleared`)
  }
  for (let before = -1; before !== load.received() || !row.exhausted; row = await rule.status()) {
    before = load.received()
    await setTimeout(6000) // longer than the report interval
  }
  const received = load.received()
  load.end()
  return { over: row.bytes_used - size, lost: (await rule.committedBytes()) - received }
}
