// Injection: input never runs as SQL, never becomes a header, never reaches a terminal as a control sequence.
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { plugins as builtin } from '../../config/plugins.ts'
import { controlChars } from '../../kernel/base/log.ts'
import type { TestServer } from '../../kit/test-server.ts'
import { onboardedServer } from '../../plugins/auth/test/fixture.ts'
import { openPrint } from '../../plugins/cli/terminal/print.ts'

const plugins = [
  'users',
  'auth',
  'credentials',
  'clients',
  'enrollment',
  'advertised-endpoint',
  'rules',
  'grants'
]
const open = (t: Test): Promise<TestServer> => onboardedServer(t, { plugins })

const grant = { user_id: 'ada', client_id: '*', listen_port_start: 1, listen_port_end: 9, protocols: ['tcp'] }
const rowsOf = ({ body }: { body: unknown }): string => JSON.stringify(body)

t.test('SQL in ids and parameters has no effect', async t => {
  const api = await open(t)
  const hostile = [
    "' OR '1'='1",
    "root'--",
    '"; DROP TABLE kernel_user; --',
    '\\',
    '%',
    '_',
    "x' UNION SELECT *"
  ]
  const before = rowsOf(await api.call('GET', '/v1/users'))

  for (const input of hostile) {
    const id = encodeURIComponent(input)
    const replies = [
      await api.call('GET', `/v1/users/${id}`),
      await api.call('DELETE', `/v1/users/${id}`),
      await api.call('DELETE', `/v1/users/root/credentials/${id}`),
      await api.call('GET', `/v1/clients/${id}`),
      await api.call('DELETE', `/v1/rules/${id}`),
      await api.call('DELETE', `/v1/grants/${id}`),
      await api.call('POST', '/v1/grants', { ...grant, user_id: input }),
      await api.call('POST', '/v1/grants', { ...grant, user_id: 'root', client: input, client_id: undefined })
    ]
    t.same(new Set(replies.map(({ status }) => status)), new Set([404]), JSON.stringify(input))
    t.match(await api.call('GET', `/v1/rules?client=${id}`), { status: 200, text: '[]' }, input)
    for (const list of [`/v1/grants?user_id=${id}`, `/v1/rules?owner=${id}`])
      t.match(
        await api.call('GET', list),
        { status: 400, body: { error: { code: 'validation.schema' } } },
        list
      )
    t.equal((await api.call('GET', `/v1/users?cursor=${id}`)).status, 400, 'a cursor')
  }
  t.same(rowsOf(await api.call('GET', '/v1/users')), before)
})

t.test('a label is stored exactly as given', async t => {
  const api = await open(t)
  const labels = ["it's", '?', '??', ':a', '\\?', '$1', '--', '\u202e', '{"a":1}', '💧', ' x ']

  for (const label of labels) await api.call('POST', '/v1/users/root/credentials', { label })

  const { body } = await api.call<{ label: string }[]>('GET', '/v1/users/root/credentials')
  t.same(
    body.map(({ label }) => label),
    labels
  )
})

t.test('text that would be read back differently is refused with its field, and stores nothing', async t => {
  const api = await onboardedServer(t, { plugins: Object.keys(builtin) })
  const places: readonly [string, Readonly<Record<string, unknown>>][] = [
    ['/v1/users/root/credentials', { label: 'x' }],
    ['/v1/grants', { ...grant, user_id: 'root', note: 'x' }],
    ['/v1/bans', { source: '192.0.2.9', client: '*', reason: 'x' }],
    ['/v1/users', { user_id: 'eve', display_name: 'x' }],
    ['/v1/enrollment-keys', { label: 'x' }],
    ['/v1/rules', { client: 'x', listen_port: 1, targets: [{ host: 'x', port: 1 }], name: 'x' }]
  ]

  for (const [path, body] of places)
    for (const field of Object.keys(body).filter(key => body[key] === 'x'))
      for (const text of ['a\ud800b', '\udc00', 'a\0', '\ud800\0\u202e'])
        t.match(
          await api.call('POST', path, { ...body, [field]: text }),
          { status: 400, body: { error: { details: { field: `/${field}` } } } },
          `${path} ${field} ${JSON.stringify(text)}`
        )
  t.same((await api.call('GET', '/v1/users/root/credentials')).body, [])
  t.same((await api.call('GET', '/v1/grants')).body, [])
  t.same((await api.call('GET', '/v1/bans')).body, [])
})

t.test('no input becomes a header or a second response', async t => {
  const api = await open(t)
  const { port } = new URL(api.server.origin)
  const raw = async (lines: readonly string[]): Promise<string> => {
    const socket = connect(Number(port), '127.0.0.1')
    t.teardown(() => socket.destroy())
    await once(socket, 'connect')
    socket.write(`${lines.join('\r\n')}\r\n\r\n`)
    return text(socket)
  }
  const end = 'connection: close'
  const requests = [
    ['GET /v1/auth/status HTTP/1.1', 'host: localhost', 'x-request-id: a%0d%0ax-evil: 1', end],
    ['GET /v1/%0d%0ax-evil:%201 HTTP/1.1', 'host: localhost', end],
    ['GET /v1/users?limit=1&cursor=%0d%0ax-evil:1 HTTP/1.1', 'host: localhost', end],
    ['GET /v1/auth/status HTTP/1.1', 'host: localhost', 'x-request-id: a\nx-evil: 1', end],
    ['GET /v1/auth/status HTTP/1.1', 'host: localhost\r\n x-evil: 1', end],
    [
      'POST /v1/auth/login HTTP/1.1',
      'host: localhost',
      'content-length: 0',
      'transfer-encoding: chunked',
      end,
      '',
      '0',
      '',
      'GET /v1/auth/status HTTP/1.1'
    ],
    [
      'POST /v1/auth/login HTTP/1.1',
      'host: localhost',
      'content-length: 4',
      'content-length: 5',
      end,
      '',
      '{}  '
    ]
  ]

  for (const lines of requests) {
    const response = await raw(lines)
    t.notMatch(response, /^x-evil/im, `no header: ${lines[0]}`)
    t.equal(response.match(/^HTTP\/1\.1 /gm)?.length, 1, `one response: ${lines[0]}`)
  }
})

t.test('control characters are refused in names and escaped in free text', async t => {
  const api = await open(t)
  const evil = '\u001b[2J\u202egnp.exe\r\nx'
  const refusals = [
    await api.call('POST', '/v1/users', { user_id: evil, display_name: 'x' }),
    await api.call('POST', '/v1/users', { user_id: 'eve', display_name: evil }),
    await api.call('PATCH', '/v1/users/root', { display_name: evil }),
    await api.call('POST', '/v1/client-enrollments', { name: evil }),
    await api.call('POST', '/v1/client-enrollments', { name: 'x', address: evil }),
    await api.call('PUT', '/v1/settings/advertised-endpoint', { advertised_endpoint: `${evil}:1` })
  ]
  for (const { status } of refusals) t.ok([400, 422].includes(status), `${status}`)

  await api.call('POST', '/v1/users/root/credentials', { label: evil })
  await api.call('POST', '/v1/grants', { ...grant, user_id: 'root', note: evil })
  await api.call('POST', '/v1/auth/login', { user_id: evil, password: evil })
  await api.call('GET', `/v1/${encodeURIComponent(evil)}`)

  for (const url of ['/v1/users/root/credentials', '/v1/grants']) {
    const shown: string[] = []
    const print = openPrint(
      'table',
      line => void shown.push(line),
      () => {}
    )
    print.data((await api.call<object[]>('GET', url)).body)
    for (const line of shown.join('\n').split('\n')) t.notMatch(line, controlChars, url)
    t.match(shown.join('\n'), '\\u001b[2J', 'the text stays legible')
  }
  for (const { message } of api.log) t.notMatch(message, controlChars)
})

t.test('control characters are escaped in both log formats', async t => {
  const evil = 'a\u001b[2J\u009b\u202eb'
  for (const format of ['json', 'pretty']) {
    const script = `
      import { openLog } from ${JSON.stringify(import.meta.resolve('../../kernel/platform/log.ts'))}
      const log = await openLog({ level: 'info', format: '${format}' })
      const evil = ${JSON.stringify(evil)}
      log.info('x.y', evil, { name: evil, reason: evil, details: { [evil]: [{ deep: evil }] } })`
    const { stderr } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script])

    t.notMatch(stderr, format === 'json' ? '\u001b' : evil.slice(1, -1), format)
    if (format === 'pretty') for (const line of stderr.split('\n')) t.notMatch(line, controlChars)
  }
})
