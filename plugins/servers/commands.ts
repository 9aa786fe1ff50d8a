import { defineCommand } from '../../kernel/cli/command.ts'

const list = defineCommand({
  name: 'store servers',
  summary: 'List the servers of the store and the tasks that each leads.',
  run: async ({ api, print }) =>
    print.data(await api.rows('GET /v1/servers'), [
      'server_id',
      'version',
      'started_at',
      'last_seen_at',
      'sessions',
      'leader_of'
    ])
})

export const commands = [list]
