// The change counter of several servers with one store. It lives in the store, so that every server gives the same number.
import type { EntityManager } from '@mikro-orm/sql'
import { earliest } from '../../kernel/base/clock.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import { hashOf } from '../../kernel/identity/secret.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { rowBatches } from '../../kernel/store/sql/row-batches.ts'
import { seesAll } from '../http/exports.ts'
import { ConsoleChange } from './entities.ts'
import type { ShownClients } from './shown-clients.ts'

const overseers = '' // callers who see all
const allClients = '*' // for users who may see all clients
const audienceOf = (client: string): string => `:${client}` // no user id has a colon
const retentionMs = 24 * 3_600_000 // a removed number starts at 1 again, which costs one more reload

export interface SharedChangeCounter {
  /**
   * Counts a change for these users, for those who may see one of the clients, and for overseers. Logs a warning if the
   * store is unavailable.
   */
  publish(changed: { readonly users: readonly string[]; readonly clients: readonly string[] }): Promise<void>
  /** Returns a number that differs after each change the caller may see, and not after others. */
  numberFor(caller: Pick<Principal, 'userId' | 'role'>): Promise<number>
}

interface Services extends Pick<Kernel, 'store' | 'clock' | 'log'> {
  readonly shownClients: ShownClients
}

export function openSharedChangeCounter({ store, clock, log, shownClients }: Services): SharedChangeCounter {
  async function audiencesFor(caller: Pick<Principal, 'userId' | 'role'>, em: EntityManager) {
    if (seesAll(caller)) return [overseers]
    const shown = await shownClients(caller.userId, em)
    return [caller.userId, ...(shown === 'all' ? [allClients] : shown.map(audienceOf))]
  }

  return {
    async publish({ users, clients }) {
      const changed = clients.length > 0 ? [allClients, ...clients.map(audienceOf)] : []
      const audiences = [overseers, ...users, ...changed].sort()
      try {
        await store.change(async em => {
          await em.nativeDelete(ConsoleChange, { changedAt: { $lt: earliest(clock) - retentionMs } })
          await increment(audiences, clock.now(), em)
        })
      } catch (error) {
        log.warn(
          'console.change_not_published',
          `pages on other servers show it with the next change: ${String(error)}`
        )
      }
    },

    numberFor: caller =>
      store.read(async em => {
        const counts: (readonly [string, number])[] = []
        for (const some of rowBatches((await audiencesFor(caller, em)).sort())) {
          const rows = await em.find(ConsoleChange, { audience: { $in: [...some] } })
          counts.push(...rows.map(({ audience, count }) => [audience, count] as const))
        }
        return toNumber(counts.sort(([a], [b]) => (a < b ? -1 : 1)))
      })
  }
}

/** Hides the counts, which include changes from before the user could see a client. */
const toNumber = (counts: readonly (readonly [audience: string, count: number])[]): number =>
  Number.parseInt(hashOf(JSON.stringify(counts)).slice(0, 12), 16)

async function increment(audiences: readonly string[], at: number, em: EntityManager): Promise<void> {
  for (const some of rowBatches(audiences, 2))
    await em.execute(
      `insert into console_change (audience, count, changed_at) values ${some.map(() => '(?, 1, ?)').join(', ')}
       on conflict (audience) do update set count = console_change.count + 1, changed_at = excluded.changed_at`,
      some.flatMap(audience => [audience, at]),
      'run'
    )
}
