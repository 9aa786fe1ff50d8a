// The numbers of changes that servers of one store have together: a page may ask another server than the one of the change.
import type { EntityManager } from '@mikro-orm/sql'
import { earliest } from '../../kernel/base/clock.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { ConsoleChange } from './entities.ts'

const [superadmins, everybody] = ['', '*']
const keptMs = 24 * 3_600_000 // of one that is forgotten the number begins anew: the lists are read once more

export function openSharedChanges({ store, clock, log }: Pick<Kernel, 'store' | 'clock' | 'log'>) {
  /** Told of `users`, or of everybody, and in any case of superadmins. */
  async function tell(users: readonly string[] | 'everybody'): Promise<void> {
    const of = [superadmins, ...(users === 'everybody' ? [everybody] : users)].sort()
    try {
      await store.change(async em => {
        await em.nativeDelete(ConsoleChange, { at: { $lt: earliest(clock) - keptMs } })
        for (const whose of of) await raise(whose, clock.now(), em)
      })
    } catch (error) {
      log.warn(
        'console.change_not_told',
        `pages at other servers show it with the next change: ${String(error)}`
      )
    }
  }

  const seenBy = ({ userId, role }: Pick<Principal, 'userId' | 'role'>): Promise<number> =>
    store.read(async em => {
      const whose = role === 'superadmin' ? [superadmins] : [everybody, userId]
      const rows = await em.find(ConsoleChange, { whose: { $in: whose } })
      return rows.reduce((sum, { number }) => sum + number, 0)
    })

  return { tell, seenBy }
}

const raise = (whose: string, at: number, em: EntityManager): Promise<unknown> =>
  em.execute(
    `insert into console_change (whose, number, at) values (?, 1, ?)
     on conflict (whose) do update set number = console_change.number + 1, at = excluded.at`,
    [whose, at],
    'run'
  )
