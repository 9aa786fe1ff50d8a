// Hashes of revoked and replaced tokens are kept while their agents may still come back with them: 400 days.

import { SpentToken } from '../../kernel/identity/entities.ts'
import type { Kernel } from '../../kernel/plugin.ts'

const dayMs = 24 * 3_600_000
const memoryMs = 400 * dayMs

/** Deletes older ones now and every day. Returns the release. */
export async function sweepTokens({ store, clock, log }: Pick<Kernel, 'store' | 'clock' | 'log'>) {
  const sweep = (): Promise<number> =>
    store.change(em => em.nativeDelete(SpentToken, { spentAt: { $lt: clock.now() - memoryMs } }))
  const logFailed = (error: unknown): void => log.error('control.sweep_failed', String(error))

  await sweep()
  return clock.every(dayMs, () => void sweep().catch(logFailed))
}
