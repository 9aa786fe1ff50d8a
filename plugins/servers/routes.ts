import { type Static, Type } from 'typebox'
import { timestamp } from '../../kernel/base/clock.ts'
import { closed, timeOf } from '../../kernel/http/schema.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { defineList } from '../http/exports.ts'

const Server = closed(
  {
    server_id: Type.String({
      description: '`server_id` of its configuration, or a name made at its start.',
      examples: ['gate-1']
    }),
    version: Type.String({ description: 'Version of sluice.', examples: ['2.0.0'] }),
    started_at: timeOf('Start of its process, by its own clock.'),
    last_seen_at: timeOf('Last renewal in the store, by the clock of the database.'),
    sessions: Type.Integer({ minimum: 0, description: 'Connected agents.', examples: [12] }),
    leader_of: Type.Array(Type.String(), {
      description: 'Tasks that it alone does for all servers of the store.',
      examples: [['stats.prune']]
    })
  },
  { $id: 'Server' }
)

const list = defineList({
  url: '/v1/servers',
  action: 'server.list',
  access: 'viewer',
  summary: 'Returns the servers of the store.',
  description: 'Omits servers that were not seen for 60 s. With SQLite there is one server.',
  schema: () => ({ row: Server, errors: [] }),
  run: async ({ control }: Kernel): Promise<Static<typeof Server>[]> =>
    (await control.servers.list()).map(({ id, version, startedAt, lastSeenAt, sessions, tasks }) => ({
      server_id: id,
      version,
      started_at: timestamp(startedAt),
      last_seen_at: timestamp(lastSeenAt),
      sessions,
      leader_of: [...tasks]
    }))
})

export const routes = [list]
