// A server that others may join: what it has in the store for them, and looks for there.
import { systemClock } from '../../kernel/base/clock.ts'
import { Fault, storeOutcomeUnknown } from '../../kernel/base/errors.ts'
import type { Sharing } from '../../kernel/store/open.ts'
import { shared } from '../../kernel/store/postgres/words.ts'
import type { Signals } from '../../kernel/store/sql/database.ts'
import type { Cluster, ClusterOptions } from './cluster.ts'
import { Mirrors } from './mirrors.ts'
import { openPeerPoller, ticksPerMinute } from './peer-poller.ts'
import { openPeerResults } from './peer-results.ts'
import { RequestRelay } from './request-relay.ts'
import { ServerRegistry } from './server-registry.ts'
import { SessionDirectory } from './session-directory.ts'

export function openSharedCluster(options: ClusterOptions, signals: Signals): Cluster {
  logWaiting(options)
  const clock = systemClock // leases are by the time of the database, which no other clock moves
  const registry = new ServerRegistry({ ...options, clock, signals })
  const relay = new RequestRelay({ ...options, signals, key: registry.key })
  const mirrors = new Mirrors({ ...options, signals, registry })
  const directory = new SessionDirectory({ ...options, signals, registry, relay, dropped: mirrors.forget })
  const results = openPeerResults({ ...options, signals })
  const doChores = openChores({ directory, relay, results, mirrors })
  options.store.share(sharingOf(registry))

  /** What others have changed since the last time. One that fails is made up for by the next one. */
  async function work(isTick: boolean): Promise<void> {
    await registry.renew()
    directory.forgetDead()
    if (registry.isAlone()) return
    await directory.poll()
    await relay.poll()
    await results.look()
    if (isTick) await doChores()
  }
  const look = openPeerPoller({ ...options, clock, signals, work })

  return {
    id: options.id,
    changeNumber: shared.changeNumber,
    joinCluster: () => registry.inForce().then(look.now), // where the agents are: others tell only what changes from now on
    remotePeers: directory,
    isAlone: registry.isAlone,
    hasOthers: registry.hasOthers,
    list: registry.list,
    onOne: registry.onOne,
    mirror: mirrors.mirror,
    inForce: directory.inForce,
    takeSessions: (taken, em) => directory.take(taken, em),
    endSessions: directory.left,
    signal() {
      if (!registry.isAlone()) signals.send()
    },
    async storeResults(of, em) {
      if (registry.isAlone()) return
      await results.keep(of, em)
    },
    watchResult(object, until) {
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
  readonly directory: SessionDirectory
  readonly mirrors: Mirrors
  readonly relay: Pick<RequestRelay, 'tidy'>
  readonly results: Pick<ReturnType<typeof openPeerResults>, 'tidy'>
}

/** Returns what is done every 2 s, while others live. */
function openChores({ directory, relay, results, mirrors }: Parts): () => Promise<void> {
  let ticks = 0
  return async () => {
    await mirrors.publish()
    await mirrors.poll()
    await directory.endRevoked()
    if (ticks++ % ticksPerMinute === 0)
      await Promise.all([directory, relay, results, mirrors].map(part => part.tidy()))
  }
}

/** One that is paused in a change may be taken for dead: before the change is answered, the others know of it again. */
const sharingOf = (registry: ServerRegistry): Sharing => ({
  isShared: () => !registry.isAlone(),
  mayChange: registry.inForce,
  hasChanged: () =>
    registry.inForce().catch((cause: unknown) => {
      const message = 'the change is made, but the other servers cannot be told now; read the record'
      throw new Fault(storeOutcomeUnknown, message, { cause })
    })
})

function logWaiting({ store: { upgrade }, log }: ClusterOptions): void {
  if (!upgrade || upgrade.waiting.length === 0) return
  const { waiting: migrations, versions } = upgrade
  log.warn(
    'server.schema_waits',
    `a server of an older release lives; start any server once more when all are upgraded, to run: ${migrations.join(', ')}`,
    { migrations, versions }
  )
}
