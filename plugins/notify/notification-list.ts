// Reads notifications and channels for those who may see them.
import type { EntityManager } from '@mikro-orm/sql'
import { timestamp, timestampOrNull } from '../../kernel/base/clock.ts'
import { defineCode, Fault } from '../../kernel/base/errors.ts'
import type { Principal } from '../../kernel/http/principal.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { type PagedRows, parseTime, seesAll } from '../http/exports.ts'
import type { Channel } from './channel.ts'
import type { Dispatcher } from './dispatcher.ts'
import { NotifyChannel, NotifyDelivery, NotifyMessage, NotifyPart } from './entities.ts'
import type { KindRegistry } from './kind-registry.ts'
import type { Messages, Reader } from './messages.ts'
import type { ChannelRow, NotificationRow } from './schema.ts'

export const channelNotFound = defineCode('channel_not_found', 404, 8)

export interface NotificationList {
  /** Lists what the caller may see, newest first. */
  list(query: { readonly since?: string | undefined }, principal: Principal): PagedRows<NotificationRow>
  channels(): Promise<ChannelRow[]>
  /** Throws `channel_not_found`. */
  requireChannel(name: string): Channel
}

interface Deps extends Pick<Kernel, 'store'> {
  readonly messages: Messages
  readonly kindRegistry: KindRegistry
  readonly dispatcher: Dispatcher
}

export function openNotificationList({ store, messages, kindRegistry, dispatcher }: Deps): NotificationList {
  async function toRows(
    found: readonly NotifyMessage[],
    reader: Reader,
    em: EntityManager
  ): Promise<NotificationRow[]> {
    const contents = await messages.load(found, reader, em)
    const deliveries = reader === 'all' ? await deliveriesOf(found, em) : null
    return found.flatMap(({ id }) => {
      const content = contents.get(id)
      if (!content) return []
      const { at, kind, count, names, text } = kindRegistry.describe(content)
      const row = { notification_id: id, kind, at: timestamp(at), count, names: [...names], text }
      return [{ ...row, ...(deliveries && { deliveries: deliveries.get(id) ?? [] }) }]
    })
  }

  return {
    list: ({ since }, principal) => ({
      async page(after, take, em) {
        const reader: Reader = seesAll(principal) ? 'all' : { user: principal.userId }
        const span = { after, oldest: since === undefined ? null : (parseTime(since) ?? 0) }
        const found = await findPage(reader, span, take, em)
        const rows = await toRows(found, reader, em)
        return rows.map(row => ({ key: mirrored(row.notification_id), row }))
      }
    }),

    channels: () =>
      store.read(em => Promise.all(dispatcher.channels().map(channel => toChannelRow(channel, em)))),

    requireChannel(name) {
      const found = dispatcher.channels().find(channel => channel.name === name)
      if (found) return found
      throw new Fault(
        channelNotFound,
        `no channel has the name ${name}; sluice notification channels lists them`
      )
    }
  }
}

interface Span {
  readonly after: string // key of the last row; '': the start
  readonly oldest: number | null // ms
}

async function findPage(
  reader: Reader,
  span: Span,
  take: number,
  em: EntityManager
): Promise<NotifyMessage[]> {
  const ids = span.after === '' ? {} : { $lt: mirrored(span.after) }
  const from = span.oldest === null ? {} : { at: { $gte: span.oldest } }
  if (reader === 'all') {
    const where = { ...(span.after !== '' && { id: ids }), ...from }
    return em.find(NotifyMessage, where, { orderBy: { id: 'desc' }, limit: take })
  }
  const own = { owner: reader.user, ...(span.after !== '' && { message: ids }) }
  const parts = await em.find(NotifyPart, own, { orderBy: { message: 'desc' }, limit: take })
  const where = { id: { $in: parts.map(({ message }) => message) }, ...from }
  return em.find(NotifyMessage, where, { orderBy: { id: 'desc' } })
}

async function deliveriesOf(found: readonly NotifyMessage[], em: EntityManager) {
  const where = { message: { $in: found.map(({ id }) => id) } }
  const rows = await em.find(NotifyDelivery, where, { orderBy: { message: 'asc', channel: 'asc' } })
  const grouped = Map.groupBy(rows, ({ message }) => message)
  return new Map(
    [...grouped].map(([id, some]) => [
      id,
      some.map(({ channel, state, attempts, error = null }) => ({ channel, state, attempts, error }))
    ])
  )
}

async function toChannelRow({ name, type, kinds, user }: Channel, em: EntityManager): Promise<ChannelRow> {
  const row = await em.findOne(NotifyChannel, { name })
  return {
    name,
    type,
    kinds: kinds && [...kinds],
    user,
    last_success_at: timestampOrNull(row?.lastSuccessAt),
    last_error: row?.lastError ?? null,
    waiting: await em.count(NotifyDelivery, { channel: name, state: 'waiting' })
  }
}

const digits = '0123456789ABCDEFGHJKMNPQRSTVWXYZ' // of a ULID

/** Turns an id into a key that sorts the other way round, and back: lists are in ascending order of their keys. */
const mirrored = (id: string): string =>
  [...id].map(digit => digits[digits.length - 1 - digits.indexOf(digit)] ?? digit).join('')
