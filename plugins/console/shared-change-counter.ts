// The change counter of several servers with one store. It lives in the store, so that every server gives the same number.
import type { EntityManager } from '@mikro-orm/sql'
import { earliest } from '../../kernel/base/clock.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { ConsoleChange } from './entities.ts'

const superadmins = ''
const everybody = '*'
const retentionMs = 24 * 3_600_000 // a removed number starts at 1 again, which costs one more reload

export interface SharedChangeCounter {
  /** Counts a change for these users, and for superadmins. Logs a warning if the store is unavailable. */
  publish(users: readonly string[] | 'everybody'): Promise<void>
  /** Returns a number that differs after each change the caller may see. */
  numberFor(caller: Pick<Principal, 'userId' | 'role'>): Promise<number>
}

export function openSharedChangeCounter({
  store,
  clock,
  log
}: Pick<Kernel, 'store' | 'clock' | 'log'>): SharedChangeCounter {
  return {
    async publish(users) {
      const audiences = [superadmins, ...(users === 'everybody' ? [everybody] : users)].sort()
      try {
        await store.change(async em => {
          await em.nativeDelete(ConsoleChange, { changedAt: { $lt: earliest(clock) - retentionMs } })
          for (const audience of audiences) await increment(audience, clock.now(), em)
        })
      } catch (error) {
        log.warn(
          'console.change_not_published',
          `pages on other servers show it with the next change: ${String(error)}`
        )
      }
    },

    numberFor: ({ userId, role }) =>
      store.read(async em => {
        const audiences = role === 'superadmin' ? [superadmins] : [everybody, userId]
        const rows = await em.find(ConsoleChange, { audience: { $in: audiences } })
        return rows.reduce((sum, { count }) => sum + count, 0)
      })
  }
}

const increment = (audience: string, at: number, em: EntityManager): Promise<unknown> =>
  em.execute(
    `insert into console_change (audience, count, changed_at) values (?, 1, ?)
     on conflict (audience) do update set count = console_change.count + 1, changed_at = excluded.changed_at`,
    [audience, at],
    'run'
  )
