// The server's side of the control stream: listener, handshake, sessions and managed objects.
import type { ControlHost, ControlOptions } from '../../kernel/control/host.ts'
import { type ObjectKind, objectKindSlot } from '../../kernel/control/managed-objects.ts'
import type { Peers } from '../../kernel/control/peers.ts'
import * as certificates from '../certificate/exports.ts'
import * as cluster from '../servers/exports.ts'
import { openHandshake } from './listener/handshake.ts'
import { Listener } from './listener/listener.ts'
import { openCounters } from './listener/metrics.ts'
import { openStreamAcceptor } from './listener/stream-acceptor.ts'
import { openWorkBudgets } from './listener/work-budget.ts'
import { openBodyLoader } from './objects/body-loader.ts'
import { openChangedRows } from './objects/changed-rows.ts'
import { openManagedObjects } from './objects/managed-objects.ts'
import { PendingResults } from './objects/pending-results.ts'
import { openRecordResult } from './objects/record-result.ts'
import { openRequestIds } from './objects/request-ids.ts'
import { handOverAgents } from './sessions/hand-over-agents.ts'
import { openLastSeen } from './sessions/last-seen.ts'
import { Sessions } from './sessions/sessions.ts'
import { settingsIn } from './settings.ts'

export async function openControl(options: ControlOptions): Promise<ControlHost> {
  const { store, clock, log, filled } = options
  const settings = settingsIn(options.configOf)
  const certificate = await certificates.openServerCertificate(settings.certificate, options)
  const restored = (): void => endSessions(servers, sessions)
  const generation = await cluster.openFailover({ ...options, restored })
  const pending = new PendingResults(clock)
  const local = localSessions(() => sessions, pending)
  const servers = cluster.openCluster({ ...options, id: settings.serverId, local })
  const lastSeen = openLastSeen({ store, clock, servers })
  const requireUncontested: Sessions['requireUncontested'] = agent => sessions.requireUncontested(agent)
  const handshake = openHandshake({ ...options, generation, joined: lastSeen.joined, requireUncontested })
  const requestIds = openRequestIds()
  const kinds = openKinds(filled)
  const budgets = openWorkBudgets(clock)
  const record = openRecordResult({ store, clock, log, kinds, pending, budgets, servers })
  const sessions: Sessions = new Sessions({
    ...options,
    requestIds,
    kinds,
    record,
    budgets,
    lastSeen,
    servers,
    changedRows: openChangedRows(options),
    bodies: openBodyLoader(options)
  })
  const counters = openCounters()
  const onStream = openStreamAcceptor({ ...options, handshake, counters, sessions, budgets })
  const listener = new Listener({ listen: settings.listen, certificate, clock, log, budgets, onStream })
  let port = 0

  return {
    peers: allPeers(sessions, servers.remotePeers),
    servers,
    objects: openManagedObjects({ requestIds, pending, kinds, sessions, servers }),
    get fingerprint() {
      return listener.certificate.fingerprint
    },
    get certificate() {
      return listener.certificate.cert
    },
    serve: (cert, key) => listener.serve(certificates.checkedCertificate({ cert, key })),
    configuredEndpoint: settings.endpoint,
    metrics: counters.metrics,
    port() {
      if (port === 0) throw new TypeError('the control stream does not listen yet: its port is not known')
      return port
    },
    async listen() {
      await servers.joinCluster()
      await certificates.requirePinned(store, listener.certificate.fingerprint)
      port = await listener.start()
    },
    leave: () => handOverAgents({ servers, listener, sessions, log }),
    close: () => closeInOrder(sessions, listener, servers)
  }
}

/** The store was replaced by a backup. */
function endSessions(servers: cluster.Cluster, sessions: Sessions): void {
  servers.restored()
  sessions.endAll('store_restored')
}

async function closeInOrder(...parts: readonly { close(): Promise<void> }[]): Promise<void> {
  for (const part of parts) await part.close()
}

const localSessions = (sessions: () => Sessions, pending: PendingResults): cluster.LocalSessions => ({
  find: clientId => sessions().find(clientId),
  isHandedOver: clientId => sessions().isHandedOver(clientId),
  all: () => sessions().all(),
  replaced: (older, by) => sessions().replaced(older, by),
  wake: clientId => sessions().wake(clientId),
  recorded: (row, result) => pending.recorded(row, result)
})

const allPeers = (local: Peers, remote: Peers): Peers => ({
  find: clientId => local.find(clientId) ?? remote.find(clientId),
  all: () => [...local.all(), ...remote.all()]
})

/** Reads the kinds when the first agent joins. They are in sending order: a limit comes before the objects that it limits. */
function openKinds(filled: ControlOptions['filled']): () => ReadonlyMap<string, ObjectKind> {
  let kinds: ReadonlyMap<string, ObjectKind> | null = null
  return () => {
    kinds ??= new Map(
      filled(objectKindSlot)
        .toReversed()
        .map(({ value }) => [value.kind, value])
    )
    return kinds
  }
}
