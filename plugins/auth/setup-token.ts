// The secret that allows to create the first superadmin. The store has its hash, so that it is valid at each server. The
// clear text is only in memory, until somebody takes it.
import type { EntityManager } from '@mikro-orm/sql'
import { StoreValue } from '../../kernel/identity/entities.ts'
import { hashOf, isSame, newSecret } from '../../kernel/identity/secret.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { afterCommit } from '../../kernel/store/after-commit.ts'
import type { RunningTime } from './throttle/running-time.ts'

const lifeMs = 30 * 60_000
const name = 'setup_token'

interface Deps extends Pick<Kernel, 'store'> {
  readonly runningTime: RunningTime
}

export interface SetupToken {
  /** Returns a new token and ends the previous one, at all servers. */
  make(): Promise<string>
  /** Returns the token once; null if it was already taken or there is none. */
  take(): string | null
  isValid(candidate: string): Promise<boolean>
  /** Ends the token when the transaction commits. */
  end(em: EntityManager): Promise<void>
}

export function openSetupToken({ store, runningTime }: Deps): SetupToken {
  let untaken: string | null = null

  return {
    async make(): Promise<string> {
      const secret = newSecret()
      await store.change(async em => {
        const until = (await runningTime.now(em)) + lifeMs
        await em.upsert(StoreValue, { name, value: `${hashOf(secret)} ${until}` })
      })
      untaken = secret
      return secret
    },
    take(): string | null {
      const secret = untaken
      untaken = null
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
        untaken = null
      })
      await em.nativeDelete(StoreValue, { name })
    }
  }
}
