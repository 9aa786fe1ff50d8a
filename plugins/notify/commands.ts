import { defineCode, Fault } from '../../kernel/base/errors.ts'
import { Type } from '../../kernel/cli/args.ts'
import { defineCommand } from '../../kernel/cli/command.ts'
import { absoluteTime } from '../http/command-exports.ts'
import type { ChannelRow, NotificationRow, TestResult } from './schema.ts'

export const notDelivered = defineCode('notification_not_delivered', 502, 1)

const list = defineCommand({
  name: 'notification list',
  summary: 'List notifications, newest first.',
  examples: ['sluice notification list --since 24h'],
  args: Type.Object({
    since: Type.Optional(
      Type.String({ description: 'The oldest time: 2026-01-31T12:00:00Z, or 90m, 12h, 7d, 2w ago.' })
    )
  }),
  async run({ api, args: { since }, print }) {
    const query = since === undefined ? '' : `?since=${encodeURIComponent(absoluteTime(since))}`
    const rows = await api.list<NotificationRow>(`/v1/notifications${query}`)
    const states = ({ deliveries = [] }: NotificationRow): string =>
      deliveries.map(({ channel, state }) => `${channel}: ${state}`).join(', ')
    print.data(rows, ['at', 'kind', 'text', ['deliveries', states]])
  }
})

const channels = defineCommand({
  name: 'notification channels',
  summary: 'List the channels of notifications with their last result.',
  run: async ({ api, print }) =>
    print.data(await api.list<ChannelRow>('/v1/notifications/channels'), [
      'name',
      'type',
      ['kinds', ({ kinds }) => kinds?.join(' ') ?? 'all'],
      'user',
      'last_success_at',
      'last_error',
      'waiting'
    ])
})

const test = defineCommand({
  name: 'notification test',
  summary: 'Send a test to a channel now.',
  examples: ['sluice notification test ops'],
  args: Type.Object({
    channel: Type.String({
      description: 'Name of the channel.',
      values: ['/v1/notifications/channels', 'name']
    })
  }),
  positional: ['channel'],
  async run({ api, args: { channel }, print }) {
    const path = `/v1/notifications/channels/${encodeURIComponent(channel)}/test`
    const result = await api.send<TestResult>('POST', path)
    if (!result.delivered) throw new Fault(notDelivered, `${channel}: ${result.error}`)
    print.done(`The test was delivered to ${channel}.`, result)
  }
})

export const commands = [list, channels, test]
