// The only server of a store: there are no peers to store anything for.
import type { Cluster, ClusterOptions } from './cluster.ts'

type Options = Pick<ClusterOptions, 'clock' | 'version' | 'id' | 'local'>

export function openSingleServer({ clock, version, id, local }: Options): Cluster {
  const startedAt = clock.now()
  const tasks = new Set<string>()
  return {
    id,
    changeNumber: '0',
    joinCluster: async () => {},
    remotePeers: { find: () => undefined, all: () => [] },
    isAlone: () => true,
    hasOthers: () => false,
    list: async () => [
      {
        id,
        version,
        startedAt,
        lastSeenAt: clock.now(),
        sessions: local.all().length,
        tasks: [...tasks].sort()
      }
    ],
    async onOne(task, work) {
      tasks.add(task)
      await work()
    },
    signal() {},
    mirror: () => () => {},
    inForce: async sessions => new Set(sessions.map(({ sessionId }) => sessionId)),
    takeSessions: async () => {},
    endSessions: async sessions => sessions.map(({ clientId }) => clientId),
    storeResults: async () => false,
    watchResult() {},
    restored() {},
    close: async () => {}
  }
}
