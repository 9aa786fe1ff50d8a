// The messages of each type of channel, and settings that are refused.
import { createHmac } from 'node:crypto'
import t, { type Test } from 'tap'
import { validateConfig } from '../../../kernel/base/config.ts'
import { Fault } from '../../../kernel/base/errors.ts'
import { fakeClock } from '../../../kit/fake-clock.ts'
import { type Channel, channelsIn, checkConfig, plainHostOf } from '../channel.ts'
import { openSend } from '../channels/send.ts'
import { NotifyChannel } from '../entities.ts'
import { type ChannelConfig, type Config, config as schema } from '../settings.ts'
import { notifyFixture, openReceiver, secret, secretFile } from './fixture.ts'
import { openMailServer } from './mail-server.ts'

const second = 1_000
const wild = '<!channel> @everyone *b* [x](https://evil.test) "a\r\nBcc: b@evil.test'

/** Sends a message about an object with a hostile name to a channel. Returns what the receiver got. */
async function sent(t: Test, settingsOf: (url: string) => object) {
  const hook = await openReceiver(t)
  const app = await notifyFixture(t, { section: { channels: { ops: settingsOf(hook.url) } } })
  await app.raise({ object: 'a', name: wild, kind: 'edge_away' })
  await app.clock.advance(32 * second)
  const request = await hook.until(1)
  const [row] = await app.notifications()
  await app.settled(({ waiting }) => waiting === 0)
  return { ...request, row, nowSecs: Math.floor(app.clock.now() / second) }
}

t.test('a webhook gets a signed body, with the id of the notification', async t => {
  const file = secretFile(t)
  const got = await sent(t, url => ({ type: 'webhook', url: `${url}/hook?a=b`, secret_file: file }))
  t.equal(got.path, '/hook?a=b')
  t.equal(got.headers['webhook-id'], got.row?.notification_id)
  const at = got.headers['webhook-timestamp']
  t.ok(Math.abs(Number(at) - got.nowSecs) <= 2)
  const signature = createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'))
    .update(`${got.row?.notification_id}.${at}.${got.text}`)
    .digest('base64')
  t.equal(got.headers['webhook-signature'], `v1,${signature}`)
  const { notification_id, count, names, text } = got.row ?? {}
  t.same(JSON.parse(got.text), {
    type: 'edge_away',
    timestamp: got.row?.at,
    data: { notification_id, count, names, text }
  })
})

t.test('Slack and Discord get no mention and no link from a name', async t => {
  await t.test('slack', async t => {
    const got = await sent(t, url => ({ type: 'slack', url: `${url}/services/T/B/X` }))
    t.equal(got.path, '/services/T/B/X')
    t.match(JSON.parse(got.text), { text: /^1 client is away: &lt;!channel&gt; @everyone/ })
  })
  await t.test('discord, with the URL in a secret file', async t => {
    const hook = await openReceiver(t)
    const file = secretFile(t, `${hook.url}/api/webhooks/1/x`)
    const channels = { ops: { type: 'discord', secret_file: file } }
    const app = await notifyFixture(t, { section: { channels } })
    await app.raise({ object: 'a', name: wild, kind: 'edge_away' })
    await app.clock.advance(32 * second)
    const got = await hook.until(1)
    t.equal(got.path, '/api/webhooks/1/x')
    const { content, allowed_mentions } = JSON.parse(got.text)
    t.same(allowed_mentions, { parse: [] })
    t.notMatch(content, /@everyone|[^\\]\[x|[^\\]\*b/)
  })
})

t.test('telegram gets plain text for the chat, without mentions', async t => {
  const file = secretFile(t, '123456:ABC-def')
  const got = await sent(t, url => ({ type: 'telegram', url, chat: '-1001', secret_file: file }))
  t.equal(got.path, '/bot123456:ABC-def/sendMessage')
  const { chat_id, text, parse_mode } = JSON.parse(got.text)
  t.match({ chat_id, text }, { chat_id: '-1001', text: /^1 client is away: <!channel> @\u200beveryone/ })
  t.equal(parse_mode, undefined)
})

t.test('ntfy gets title, priority and token as headers', async t => {
  const file = secretFile(t, 'tk_1')
  const got = await sent(t, url => ({ type: 'ntfy', url: `${url}/alerts`, secret_file: file }))
  t.match(got, {
    path: '/alerts',
    headers: { title: 'sluice: 1 client is away', priority: '4', authorization: 'Bearer tk_1' },
    text: /^1 client is away: </
  })
})

t.test('gotify gets JSON, and its token as a header', async t => {
  const file = secretFile(t, 'A1')
  const got = await sent(t, url => ({ type: 'gotify', url: `${url}/push/`, secret_file: file }))
  t.match(got, { path: '/push/message', headers: { 'x-gotify-key': 'A1' } })
  t.match(JSON.parse(got.text), { title: 'sluice: 1 client is away', priority: 8 })
})

t.test('a mail in plain text goes to all recipients, and a name adds no header', async t => {
  const server = await openMailServer(t, { login: true })
  const ops = {
    type: 'smtp',
    url: `smtp://bot%40example.com@127.0.0.1:${server.port}`,
    from: 'sluice@example.com',
    to: ['ops@example.com', 'ann@example.com'],
    secret_file: secretFile(t, 'the password')
  }
  const app = await notifyFixture(t, { section: { channels: { ops } } })
  await app.raise({ object: 'a', name: wild, kind: 'edge_away' })
  await app.clock.advance(32 * second)

  const mail = await server.until(1)

  t.match(mail, { from: /<sluice@example.com>/, to: [/<ops@example.com>/, /<ann@example.com>/] })
  t.equal(mail.auth, '\u0000bot@example.com\u0000the password')
  const [head = '', body = ''] = mail.text.split(/\n\n(.*)/s)
  t.match(head, /^Subject: sluice: 1 client is away$/m)
  t.match(head, /^Content-Type: text\/plain; charset=utf-8$/m)
  t.notMatch(head, /Bcc|evil/)
  t.match(body, /^1 client is away: <!channel> @everyone/)
  await app.settled(({ waiting, last_error: error }) => waiting === 0 && error === null)
})

t.test('a mail server that refuses a recipient is an error without texts of the server', async t => {
  const server = await openMailServer(t, { refuse: '550 no such user <script>' })
  const url = `smtp://127.0.0.1:${server.port}`
  const ops = { type: 'smtp', url, from: 'sluice@example.com', to: 'ops@example.com' }
  const app = await notifyFixture(t, { section: { channels: { ops } } })
  t.match((await app.call('POST', '/v1/notifications/channels/ops/test')).body, {
    delivered: false,
    status: null,
    error: 'the request failed: EENVELOPE'
  })
})

t.test('a test has the type test, is recorded and audited, and needs no waiting', async t => {
  const hook = await openReceiver(t)
  const ops = { type: 'webhook', url: `${hook.url}/secret-path`, secret_file: secretFile(t) }
  const app = await notifyFixture(t, { section: { channels: { ops } } })
  const reply = await app.call('POST', '/v1/notifications/channels/ops/test')
  t.same(reply.body, { delivered: true, status: 200, error: null })
  t.match(JSON.parse((await hook.until(1)).text), { type: 'test' })
  t.match(app.decisions.at(-1), { action: 'notification.test', resourceId: 'ops', outcome: 'allow' })
  hook.answer(401)
  await app.call('POST', '/v1/notifications/channels/ops/test')
  const rows = await app.call('GET', '/v1/notifications/channels')
  t.match(rows.body, [{ name: 'ops', last_success_at: /^2026/, last_error: 'response status 401' }])
  t.notMatch(rows.text + JSON.stringify(app.log), /secret-path|whsec/)
})

const configOf = (channel: object): Config => {
  const { value, problems } = validateConfig(schema, { channels: { ops: channel } }, 'plugins.notify')
  if (problems.length > 0) throw new Error(problems.join('\n'))
  return value as Config
}

t.test('an invalid channel is refused, and the error names the key', async t => {
  const weak = secretFile(t, 'short')
  const open = secretFile(t, secret, 0o644)
  const good = secretFile(t)
  const url = 'https://example.com/x'
  const cases: readonly (readonly [object, RegExp])[] = [
    [{ type: 'pager' }, /plugins\.notify\.channels\.ops\.type must be one of webhook, smtp/],
    [{ type: 'slack', url, colour: 1 }, /unknown key plugins\.notify\.channels\.ops\.colour/],
    [{ type: 'webhook', secret_file: good }, /channels\.ops\.url is required for the type webhook/],
    [{ type: 'webhook', url }, /channels\.ops\.secret_file is required/],
    [{ type: 'webhook', url, secret_file: weak }, /channels\.ops\.secret_file must hold at least 24 bytes/],
    [
      { type: 'webhook', url, secret_file: open },
      /holds the secret of plugins\.notify\.channels\.ops\.secret_file and others may read it; run: chmod 600/
    ],
    [{ type: 'webhook', url, secret_file: '/no/such' }, /secret_file cannot be read: ENOENT/],
    [
      { type: 'webhook', url, secret_file: good, chat: 'x' },
      /channels\.ops\.chat is not for the type webhook/
    ],
    [{ type: 'slack' }, /channels\.ops\.url is required for the type slack, or secret_file/],
    [
      { type: 'slack', url: 'ftp://example.com' },
      /url must be a URL that begins with https:\/\/ or http:\/\//
    ],
    [{ type: 'slack', url: 'https://a:hush@example.com' }, /url must not contain a password/],
    [{ type: 'telegram', secret_file: secretFile(t, '1:a') }, /channels\.ops\.chat is required/],
    [
      { type: 'telegram', chat: '1', secret_file: secretFile(t, '../x') },
      /secret_file must hold the token of a bot/
    ],
    [{ type: 'smtp', url: 'smtp://h', from: 'a@b.c' }, /channels\.ops\.to is required/],
    [
      { type: 'smtp', url: 'smtp://h', from: 'a@b.c', to: 'x\ny@b.c' },
      /channels\.ops\.to must be a plain mail/
    ],
    [
      { type: 'slack', url, kinds: ['edge_away', 'edge_lost'] },
      /channels\.ops\.kinds has edge_lost, which no loaded plugin has; use some of edge_away/
    ],
    [
      { type: 'smtp', url: 'smtp://50%@h', from: 'a@b.c', to: 'x@b.c', secret_file: good },
      /channels\.ops\.url has a USER with a % that begins no character; write % as %25/
    ],
    [{ type: 'webhook', url, secret_file: '/' }, /secret_file names \/, which is not a file/],
    [{ type: 'smtp', url: 'smtp://u@h', from: 'a@b.c', to: 'x@b.c' }, /secret_file and the USER in the url/]
  ]
  for (const [channel, expected] of cases) {
    const error = await Promise.resolve()
      .then(() => checkConfig(configOf(channel), ['edge_away']))
      .catch((error: unknown) => error)
    t.match(error instanceof Error ? error.message : 'accepted', expected)
    t.notMatch(error instanceof Error ? error.message : '', /hush|MfKQ9/)
  }
})

t.test('at most 16 channels are allowed, with names of letters, digits, _ and -', async t => {
  const one = { type: 'slack', url: 'https://example.com/x' } as ChannelConfig
  const many = Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`c${i}`, one]))
  t.throws(() => channelsIn({ grace_secs: 0, channels: many }), Fault)
  t.throws(() => channelsIn({ grace_secs: 0, channels: { 'a b': one } }), {
    message: /^plugins\.notify\.channels\."a b" must be 1 to 32 of a-z/
  })
})

t.test('a host that gets messages without TLS over a network is found, except for webhooks', async t => {
  const hostOf = (channel: object) => plainHostOf(channelsIn(configOf(channel))[0] as never)
  t.equal(hostOf({ type: 'slack', url: 'http://chat.test:8065/hooks/x' }), 'chat.test:8065')
  t.equal(hostOf({ type: 'slack', url: 'http://127.0.0.1/x' }), null)
  t.equal(hostOf({ type: 'ntfy', url: 'http://[::1]:80/x' }), null)
  t.equal(hostOf({ type: 'webhook', url: 'http://chat.test/x', secret_file: secretFile(t) }), null)
})

t.test('the result of a test is kept for a channel that a reload has just added', async t => {
  const hook = await openReceiver(t)
  const app = await notifyFixture(t)
  app.deps.config.channels = { ops: { type: 'slack', url: hook.url } }
  await app.call('POST', '/v1/notifications/channels/ops/test')
  t.match(await app.channels(), [{ name: 'ops', last_success_at: /^2026/, last_error: null }])

  hook.answer(500)
  await app.call('POST', '/v1/notifications/channels/ops/test')
  t.match(await app.channels(), [{ last_success_at: /^2026/, last_error: 'response status 500' }])
})

t.test('a channel whose secret file is gone does not keep others from being listed for doctor', async t => {
  const app = await notifyFixture(t)
  app.deps.config.channels = {
    gone: { type: 'slack', secret_file: '/no/such/file' },
    plain: { type: 'slack', url: 'http://chat.test/x' }
  }
  await app.clock.advance(61 * second)
  const rows = await app.deps.store.read(em => em.find(NotifyChannel, {}, { orderBy: { name: 'asc' } }))
  t.match(rows, [
    { name: 'gone', plainHost: null },
    { name: 'plain', plainHost: 'chat.test' }
  ])
})

t.test('a mail that is interrupted while the mail library loads is not sent', async t => {
  const server = await openMailServer(t, {})
  const url = `smtp://127.0.0.1:${server.port}`
  const [channel] = channelsIn(
    configOf({ type: 'smtp', url, from: 'sluice@example.com', to: 'ops@example.com' })
  )
  const stop = new AbortController()
  const message = {
    id: 'x',
    kind: 'test',
    at: 0,
    count: 1,
    names: [],
    title: 'a',
    text: 'b',
    isUrgent: false
  }
  const sending = openSend({ clock: fakeClock(), findTracer: () => undefined })(
    channel as Channel,
    message,
    stop.signal
  )
  stop.abort()
  t.match(await sending, { result: 'interrupted', error: 'the server stops' })
})
