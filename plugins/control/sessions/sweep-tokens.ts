// Keeps the hashes of revoked and replaced tokens for 400 days: agents that still use them get `token_revoked`.
import { earliest } from '../../../kernel/base/clock.ts'
import { SpentToken } from '../../../kernel/identity/entities.ts'
import type { Kernel } from '../../../kernel/plugin.ts'

const dayMs = 24 * 3_600_000
const retentionMs = 400 * dayMs

type Services = Pick<Kernel, 'store' | 'clock' | 'log' | 'control'>

/** Deletes older hashes now and every day. Returns the function that stops it. */
export async function sweepTokens({ store, clock, log, control }: Services) {
  const sweep = (): Promise<number> =>
    store.change(em => em.nativeDelete(SpentToken, { spentAt: { $lt: earliest(clock) - retentionMs } }))
  const logFailed = (error: unknown): void => log.error('control.sweep_failed', String(error))

  await sweep()
  return clock.every(
    dayMs,
    () => void control.servers.onOne('control.tokens', () => sweep().catch(logFailed))
  )
}
