// Checks of the channels of notifications. The plugin notify stores them, without their URLs.
import { defineCheck } from '../../cli/check-exports.ts'
import { plural } from '../finding-text.ts'

export const channels = defineCheck({
  name: 'channels',
  roles: ['server'],
  findings: {
    'channels.plain': {
      status: 'warn',
      when: 'a channel sends notifications over a network without TLS, and is not a webhook with its signed requests',
      remedy: 'give the url of the channel as https:// in the configuration of the server'
    }
  },
  async run({ query }) {
    const rows = await query<{ name: string; host: string | null }>(
      'notify_channel',
      'select name, plain_host as host from notify_channel order by name'
    )
    const plain = rows.filter(({ host }) => host !== null)
    if (plain.length === 0) return [{ ok: plural(rows.length, 'channel') }]
    return plain.map(({ name, host }) => ({
      id: 'channels.plain' as const,
      message: `${name} sends to ${host} without TLS`
    }))
  }
})
