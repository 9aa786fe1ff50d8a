// A server on a store that peers may join: its rows for them, and the poll of theirs.
import { systemClock } from '../../kernel/base/clock.ts'
import { Fault, storeOutcomeUnknown } from '../../kernel/base/errors.ts'
import type { Sharing } from '../../kernel/store/open.ts'
import { shared } from '../../kernel/store/postgres/dialect.ts'
import type { Signals } from '../../kernel/store/sql/database.ts'
import type { Cluster, ClusterOptions } from './cluster.ts'
import { Mirrors } from './mirrors.ts'
import { openPeerPoller, pollsPerMinute } from './peer-poller.ts'
import { openPeerResults, type PeerResults } from './peer-results.ts'
import { RequestRelay } from './request-relay.ts'
import { ServerRegistry } from './server-registry.ts'
import { SessionDirectory } from './session-directory.ts'

export function openSharedCluster(options: ClusterOptions, signals: Signals): Cluster {
  logWaitingMigrations(options)
  const clock = systemClock // leases follow the time of the database, which a test clock does not move
  const registry = new ServerRegistry({ ...options, clock, signals })
  const relay = new RequestRelay({ ...options, signals, key: registry.key })
  const mirrors = new Mirrors({ ...options, signals, registry })
  const directory = new SessionDirectory({ ...options, signals, registry, relay, dropped: mirrors.forget })
  const results = openPeerResults({ ...options, signals })
  const doChores = openChores({ directory, relay, results, mirrors })
  options.store.share(sharingOf(registry))

  /** Reads what peers have changed since the last poll. After a failure the next poll catches up. */
  async function poll(isPeriodic: boolean): Promise<void> {
    await registry.renew()
    directory.forgetDead()
    if (registry.isAlone()) return
    await directory.poll()
    await relay.poll()
    await results.poll()
    if (isPeriodic) await doChores()
  }
  const poller = openPeerPoller({ ...options, clock, signals, poll })

  return {
    id: options.id,
    changeNumber: shared.changeNumber,
    joinCluster: () => registry.inForce().then(poller.pollNow), // peers only signal later changes
    remotePeers: directory,
    isAlone: registry.isAlone,
    hasOthers: registry.hasOthers,
    list: registry.list,
    onOne: registry.onOne,
    mirror: mirrors.mirror,
    inForce: directory.inForce,
    takeSessions: (taken, em) => directory.take(taken, em),
    endSessions: directory.end,
    signal() {
      if (!registry.isAlone()) signals.send()
    },
    async storeResults(of, em) {
      if (registry.isAlone()) return false
      await results.store(of, em)
      return true
    },
    watchResult(expected) {
      results.watch(expected)
      void poller.pollNow()
    },
    restored() {
      directory.restored()
      mirrors.restored()
    },
    async close() {
      await poller.close()
      await registry.close()
      signals.send()
    }
  }
}

interface Parts {
  readonly directory: SessionDirectory
  readonly mirrors: Mirrors
  readonly relay: Pick<RequestRelay, 'tidy'>
  readonly results: Pick<PeerResults, 'tidy'>
}

/** Returns the work of every 2 s while peers are live. */
function openChores({ directory, relay, results, mirrors }: Parts): () => Promise<void> {
  let runs = 0
  return async () => {
    await mirrors.publish()
    await mirrors.poll()
    await directory.endRevoked()
    if (runs++ % pollsPerMinute === 0)
      await Promise.all([directory, relay, results, mirrors].map(part => part.tidy()))
  }
}

/** A server paused in a change may count as dead. Before it answers the change, its peers know of it again. */
const sharingOf = (registry: ServerRegistry): Sharing => ({
  isShared: () => !registry.isAlone(),
  mayChange: registry.inForce,
  hasChanged: () =>
    registry.inForce().catch((cause: unknown) => {
      const message = 'the change is made, but the other servers cannot be reached now; read the record again'
      throw new Fault(storeOutcomeUnknown, message, { cause })
    })
})

function logWaitingMigrations({ store: { upgrade }, log }: ClusterOptions): void {
  if (!upgrade || upgrade.waiting.length === 0) return
  const { waiting: migrations, versions } = upgrade
  log.warn(
    'server.migrations_waiting',
    `a server of an older release is live; when all are upgraded, restart any server to run: ${migrations.join(', ')}`,
    { migrations, versions }
  )
}
