import { defineRoute } from '../../kernel/http/route.ts'
import { defineList } from '../http/exports.ts'
import type { Dispatcher } from './dispatcher.ts'
import { channelNotFound, type NotificationList } from './notification-list.ts'
import { ChannelParams, ChannelRow, NotificationRow, Since, TestResult } from './schema.ts'

interface Deps {
  readonly notificationList: NotificationList
  readonly dispatcher: Dispatcher
}

const list = defineList({
  url: '/v1/notifications',
  action: 'notification.list',
  access: 'user',
  summary: 'Lists notifications, newest first.',
  description: 'Users see those about their own rules, quotas and credentials.',
  schema: () => ({ query: Since, row: NotificationRow, errors: [] }),
  run: async ({ notificationList }: Deps, { query, principal }) => notificationList.list(query, principal)
})

const channels = defineList({
  url: '/v1/notifications/channels',
  action: 'notification.channels',
  access: 'viewer',
  summary: 'Lists the channels of notifications with their last result.',
  schema: () => ({ row: ChannelRow, errors: [] }),
  run: ({ notificationList }: Deps) => notificationList.channels()
})

const test = defineRoute({
  method: 'POST',
  url: '/v1/notifications/channels/:name/test',
  action: 'notification.test',
  access: 'superadmin',
  summary: 'Sends a test to a channel now, and returns the result.',
  schema: () => ({ params: ChannelParams, reply: TestResult, errors: [channelNotFound] }),
  async run({ notificationList, dispatcher }: Deps, { params: { name }, change }) {
    const of = { kind: 'channel', id: name }
    const channel = await change(of, async () => notificationList.requireChannel(name))
    const { result, status, error } = await dispatcher.test(channel)
    return { delivered: result === 'delivered', status, error }
  }
})

export const routes = [list, channels, test]
