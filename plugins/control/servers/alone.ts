// The only server of a store: nothing has to be kept for others.
import type { OwnServers, ServersOptions } from './own-servers.ts'

type Options = Pick<ServersOptions, 'clock' | 'version' | 'id' | 'happenings'>

export function openAlone({ clock, version, id, happenings }: Options): OwnServers {
  const startedAt = clock.now()
  const tasks = new Set<string>()
  return {
    id,
    changeNumber: '0',
    known: async () => {},
    elsewhere: { find: () => undefined, all: () => [] },
    isAlone: () => true,
    hasOthers: () => false,
    list: async () => [
      {
        ...{ id, version, startedAt, lastSeenAt: clock.now() },
        ...{ sessions: happenings.all().length, tasks: [...tasks].sort() }
      }
    ],
    async onOne(task, work) {
      tasks.add(task)
      await work()
    },
    changed() {},
    mirror: () => () => {},
    inForce: async sessions => new Set(sessions.map(({ sessionId }) => sessionId)),
    take: async () => {},
    left: async sessions => sessions.map(({ clientId }) => clientId),
    keepResults: async () => {},
    watch() {},
    restored() {},
    close: async () => {}
  }
}
