// A server that others may join: what it has in the store for them, and looks for there.
import { systemClock } from '../../../kernel/base/clock.ts'
import { Fault, storeOutcomeUnknown } from '../../../kernel/base/errors.ts'
import type { Sharing } from '../../../kernel/store/open.ts'
import { shared } from '../../../kernel/store/postgres/words.ts'
import type { Signals } from '../../../kernel/store/sql/database.ts'
import { Directory } from './directory.ts'
import { openLook, ticksOfMinute } from './look.ts'
import { Mirrors } from './mirrors.ts'
import type { OwnServers, ServersOptions } from './own-servers.ts'
import { Registry } from './registry.ts'
import { Relay } from './relay.ts'
import { openResults } from './results.ts'

export function openSeveral(options: ServersOptions, signals: Signals): OwnServers {
  logWaiting(options)
  const clock = systemClock // leases are by the time of the database, which no other clock moves
  const registry = new Registry({ ...options, clock, signals })
  const relay = new Relay({ ...options, signals, key: registry.key })
  const mirrors = new Mirrors({ ...options, signals, registry })
  const directory = new Directory({ ...options, signals, registry, relay, dropped: mirrors.forget })
  const results = openResults({ ...options, signals })
  const doChores = openChores({ directory, relay, results, mirrors })
  options.store.share(sharingOf(registry))

  /** What others have changed since the last time. One that fails is made up for by the next one. */
  async function work(isTick: boolean): Promise<void> {
    await registry.renew()
    directory.forgetDead()
    if (registry.isAlone()) return
    await directory.look()
    await relay.look()
    await results.look()
    if (isTick) await doChores()
  }
  const look = openLook({ ...options, clock, signals, work })

  return {
    id: options.id,
    changeNumber: shared.changeNumber,
    known: () => registry.inForce().then(look.now), // where the agents are: others tell only what changes from now on
    elsewhere: directory,
    isAlone: registry.isAlone,
    hasOthers: registry.hasOthers,
    list: registry.list,
    onOne: registry.onOne,
    mirror: mirrors.mirror,
    inForce: directory.inForce,
    take: (taken, em) => directory.take(taken, em),
    left: directory.left,
    changed() {
      if (!registry.isAlone()) signals.send()
    },
    async keepResults(of, em) {
      if (registry.isAlone()) return
      await results.keep(of, em)
    },
    watch(object, until) {
      results.watch(object, until)
      void look.now()
    },
    restored() {
      directory.restored()
      mirrors.restored()
    },
    async close() {
      await look.close()
      await registry.close()
      signals.send()
    }
  }
}

interface Parts {
  readonly directory: Directory
  readonly mirrors: Mirrors
  readonly relay: Pick<Relay, 'tidy'>
  readonly results: Pick<ReturnType<typeof openResults>, 'tidy'>
}

/** Returns what is done every 2 s, while others live. */
function openChores({ directory, relay, results, mirrors }: Parts): () => Promise<void> {
  let ticks = 0
  return async () => {
    await mirrors.show()
    await mirrors.look()
    await directory.endRevoked()
    if (ticks++ % ticksOfMinute === 0)
      await Promise.all([directory, relay, results, mirrors].map(part => part.tidy()))
  }
}

/** One that is paused in a change may be taken for dead: before the change is answered, the others know of it again. */
const sharingOf = (registry: Registry): Sharing => ({
  isShared: () => !registry.isAlone(),
  mayChange: registry.inForce,
  hasChanged: () =>
    registry.inForce().catch((cause: unknown) => {
      const message = 'the change is made, but the other servers cannot be told now; read the record'
      throw new Fault(storeOutcomeUnknown, message, { cause })
    })
})

function logWaiting({ store: { upgrade }, log }: ServersOptions): void {
  if (!upgrade || upgrade.waiting.length === 0) return
  const { waiting: migrations, versions } = upgrade
  log.warn(
    'server.schema_waits',
    `a server of an older release lives; start any server once more when all are upgraded, to run: ${migrations.join(', ')}`,
    { migrations, versions }
  )
}
