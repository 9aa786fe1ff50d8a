// The server's side of the control stream: listener, handshake, sessions and managed objects.
import type { Static } from 'typebox'
import type { ControlHost, ControlOptions } from '../../kernel/control/host.ts'
import { type ObjectKind, objectKindSlot } from '../../kernel/control/managed-objects.ts'
import { openBodies } from './bodies.ts'
import { openChangedRows } from './changed-rows.ts'
import { openFailover } from './failover.ts'
import { openHandshake } from './handshake.ts'
import { openIncoming } from './incoming.ts'
import { openKeep, servedCertificate } from './keep.ts'
import { openLastSeen } from './last-seen.ts'
import { leave } from './leaving.ts'
import { Listener } from './listener.ts'
import { openManagedObjects } from './managed-objects.ts'
import { openCounters } from './metrics.ts'
import { PendingResults } from './pending-results.ts'
import { namedCertificates, requirePinned } from './pinned-certificate.ts'
import { openRecordResult } from './record-result.ts'
import { openRequestIds } from './request-ids.ts'
import type { Happenings } from './servers/own-servers.ts'
import { openServers } from './servers/servers.ts'
import { Sessions } from './sessions.ts'
import { type keys, settingsOf } from './settings.ts'
import { openWorkBudgets } from './work-budget.ts'

export async function openControl(options: ControlOptions): Promise<ControlHost> {
  const { store, clock, log, filled } = options
  // The kernel has validated the configuration against these keys.
  const settings = settingsOf(options.config as Static<typeof keys>)
  const keep = await openKeep({ dir: options.dataDir, store, log })
  await keep.settle(await store.read(namedCertificates))
  const certificate = await servedCertificate(keep, settings.certificate)
  const restored = (): void => {
    servers.restored()
    sessions.endAll('store_restored')
  }
  const generation = await openFailover({ ...options, restored })
  const pending = new PendingResults(clock)
  const happenings = happeningsOf(() => sessions, pending)
  const servers = openServers({ ...options, id: settings.serverId, happenings })
  const lastSeen = openLastSeen({ store, clock, servers })
  const handshake = openHandshake({ ...options, generation, joined: lastSeen.joined })
  const requestIds = openRequestIds()
  let order: ReturnType<typeof sendOrder> | null = null
  const kinds = () => (order ??= sendOrder(filled(objectKindSlot))) // one for all agents, when the first one comes
  const budgets = openWorkBudgets(clock)
  const record = openRecordResult({ store, clock, log, kinds, pending, budgets, servers })
  const sessions: Sessions = new Sessions({
    ...options,
    ...{ requestIds, kinds, record, budgets, lastSeen, servers },
    ...{ changedRows: openChangedRows(options), bodies: openBodies(options) }
  })
  const counters = openCounters()
  const onStream = openIncoming({ ...options, handshake, counters, sessions, budgets })
  const listener = new Listener({ listen: settings.listen, certificate, clock, log, budgets, onStream })
  let port = 0

  return {
    peers: {
      find: clientId => sessions.find(clientId) ?? servers.elsewhere.find(clientId),
      all: () => [...sessions.all(), ...servers.elsewhere.all()]
    },
    servers,
    objects: openManagedObjects({ requestIds, pending, kinds, sessions, servers }),
    fingerprint: certificate.fingerprint,
    certificate: certificate.cert,
    configuredEndpoint: settings.endpoint,
    metrics: counters.metrics,
    port() {
      if (port === 0) throw new TypeError('the control stream does not listen yet: its port is not known')
      return port
    },
    async listen() {
      await servers.known()
      await requirePinned(store, certificate.fingerprint)
      port = await listener.start()
    },
    leave: () => leave({ servers, listener, sessions, log }),
    async close() {
      await sessions.close()
      await listener.close()
      await servers.close()
    }
  }
}

const happeningsOf = (sessions: () => Sessions, pending: PendingResults): Happenings => ({
  find: clientId => sessions().find(clientId),
  isAway: clientId => sessions().isAway(clientId),
  all: () => sessions().all(),
  replaced: (older, by) => sessions().replaced(older, by),
  changed: clientId => sessions().wake(clientId),
  recorded: (row, result) => pending.recorded(row, result)
})

/** Returns the kinds by name in the order in which they are sent: a limit comes before the objects that it limits. */
const sendOrder = (filled: readonly { readonly value: ObjectKind }[]): ReadonlyMap<string, ObjectKind> =>
  new Map(filled.toReversed().map(({ value }) => [value.kind, value]))
