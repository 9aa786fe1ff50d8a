// The HTTP request that each type of channel expects. Names in messages are texts of others: none becomes a mention, a link
// with another text, or a header.
import { createHmac } from 'node:crypto'
import { timestamp } from '../../../kernel/base/clock.ts'
import { type Channel, webhookKey } from '../channel.ts'
import { cutText } from '../plain-text.ts'
import type { Outgoing } from './outgoing.ts'

export interface HttpRequest {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

interface Given {
  readonly message: Outgoing
  readonly secret: string | null
  readonly nowMs: number
  readonly traceparent: string | null // for webhooks
}

const maxText = 1_900 // Discord accepts 2,000 characters

/** Returns the request for a channel of a type that uses HTTP. */
export function requestFor(channel: Channel, given: Given): HttpRequest {
  const { message } = given
  const secret = given.secret ?? ''
  const url = channel.url ?? new URL(secret)
  const text = cutText(message.text, maxText)
  switch (channel.type) {
    case 'webhook':
      return webhook(url, given)
    case 'slack':
      return json(url, { text: escapeSlack(text) })
    case 'discord':
      return json(url, { content: escapeDiscord(text), allowed_mentions: { parse: [] } })
    case 'telegram':
      return json(below(url, `bot${secret}/sendMessage`), {
        chat_id: channel.chat,
        text: withoutMentions(text),
        link_preview_options: { is_disabled: true }
      })
    case 'ntfy':
      return ntfy(url, given, text)
    case 'gotify': {
      const body = { title: message.title, message: text, priority: message.isUrgent ? 8 : 4 }
      return json(below(url, 'message'), body, { 'x-gotify-key': secret })
    }
    case 'smtp':
      throw new TypeError('mail is not sent by HTTP')
  }
}

/** Signed as in Standard Webhooks. The id is the same in every try, so that receivers can drop repetitions. */
function webhook(url: URL, { message, secret, nowMs, traceparent }: Given): HttpRequest {
  const { id, kind, at, count, names, text } = message
  const data = { notification_id: id, count, names, text }
  const body = JSON.stringify({ type: kind, timestamp: timestamp(at), data })
  const seconds = Math.floor(nowMs / 1000)
  const signature = createHmac('sha256', webhookKey(secret ?? ''))
    .update(`${id}.${seconds}.${body}`)
    .digest('base64')
  const headers = {
    ...jsonHeaders,
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': `v1,${signature}`,
    ...(traceparent !== null && { traceparent })
  }
  return { url, headers, body }
}

function ntfy(url: URL, { message, secret }: Given, text: string): HttpRequest {
  const headers = {
    'content-type': 'text/plain; charset=utf-8',
    'user-agent': 'sluice',
    title: message.title.replaceAll(/[^\x20-\x7e]/g, '?'),
    priority: message.isUrgent ? '4' : '3',
    ...(secret !== null && { authorization: `Bearer ${secret}` })
  }
  return { url, headers, body: text }
}

const jsonHeaders = { 'content-type': 'application/json', 'user-agent': 'sluice' }

const json = (url: URL, body: object, headers: Readonly<Record<string, string>> = {}): HttpRequest => ({
  url,
  headers: { ...jsonHeaders, ...headers },
  body: JSON.stringify(body)
})

/** Appends a path, whether the URL ends with a slash or not. */
function below(url: URL, path: string): URL {
  const next = new URL(url)
  next.pathname = `${next.pathname.replace(/\/+$/, '')}/${path}`
  return next
}

/** Slack reads `<!channel>` and `<https://...|text>` only between its own brackets. */
const escapeSlack = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

const escapeDiscord = (text: string): string =>
  withoutMentions(text.replaceAll(/[\\*_~`|<>[\]()#-]/g, '\\$&'))

/** Breaks mentions such as `@everyone` by a character without width. */
const withoutMentions = (text: string): string => text.replaceAll('@', '@\u200b')
