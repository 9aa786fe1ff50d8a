// Deletes the hashes of revoked and replaced tokens after 400 days. Until then, agents that use them get `token_revoked`.
import { earliest } from '../../../kernel/base/clock.ts'
import { SpentToken } from '../../../kernel/identity/entities.ts'
import type { Kernel } from '../../../kernel/plugin.ts'

const dayMs = 24 * 3_600_000
const retentionMs = 400 * dayMs

type Services = Pick<Kernel, 'store' | 'clock' | 'log' | 'control'>

/** Deletes old hashes now and every day. Returns a function that stops that. */
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
