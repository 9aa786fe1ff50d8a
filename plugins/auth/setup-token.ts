// The secret that makes the first superadmin. The store has its hash, so that each server takes it, and the one before it
// ends. It is in clear in memory only, until somebody takes it.
import type { EntityManager } from '@mikro-orm/sql'
import { StoreValue } from '../../kernel/identity/entities.ts'
import { hashOf, isSame, newSecret } from '../../kernel/identity/secret.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { afterCommit } from '../../kernel/store/after-commit.ts'
import type { RunningTime } from './running-time.ts'

const lifeMs = 30 * 60_000
const name = 'setup_token'

interface Deps extends Pick<Kernel, 'store'> {
  readonly runningTime: RunningTime
}

export function openSetupToken({ store, runningTime }: Deps) {
  let untold: string | null = null

  return {
    /** Returns a new one; the one before it ends, at all servers. */
    async make(): Promise<string> {
      const secret = newSecret()
      await store.change(async em => {
        const until = (await runningTime.now(em)) + lifeMs
        await em.upsert(StoreValue, { name, value: `${hashOf(secret)} ${until}` })
      })
      untold = secret
      return secret
    },
    /** Returns it once; null: it was taken, or there is none. */
    take(): string | null {
      const secret = untold
      untold = null
      return secret
    },
    isValid: (candidate: string): Promise<boolean> =>
      store.read(async em => {
        const row = await em.findOne(StoreValue, { name })
        if (!row) return false
        const [hash = '', until] = row.value.split(' ')
        return isSame(hashOf(candidate), hash) && (await runningTime.now(em)) < Number(until)
      }),
    async end(em: EntityManager): Promise<void> {
      afterCommit(em, () => {
        untold = null
      })
      await em.nativeDelete(StoreValue, { name })
    }
  }
}
