// Error messages of commands when no server, or another program, answers.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { openApiClient } from '../api/api-client.ts'

const apiOf = (origin: string) =>
  openApiClient({ origin, token: 'x', exitOf: async () => 1, plainHttp: 'refused' })

t.test('a redirect is not followed, so the token stays here; the error names the destination', async t => {
  const asked: (string | undefined)[] = []
  const server = createServer(({ url }, response) => {
    asked.push(url)
    response.writeHead(301, { location: 'https://other.example/' }).end('moved')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  const api = apiOf(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)

  await t.rejects(api.get('/v1/clients'), {
    errorCode: { code: 'server_unreachable', http: 301 },
    message: /status 301 .*not from a sluice server; it redirects to https:\/\/other\.example\//
  })
  t.same(asked, ['/v1/clients'])
})

t.test('the error says that another program answered, whatever its reply', async t => {
  const server = createServer((_, response) => void response.end(answer))
  let answer = '{}'
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  const api = apiOf(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const message = /^status 200 with a body that is not from a sluice server: check --server or SVC_SERVER$/

  await t.rejects(api.list('/v1/clients'), { errorCode: { code: 'server_unreachable', exit: 69 }, message })
  answer = '<html>'
  await t.rejects(api.list('/v1/clients'), { message })
  await t.rejects(api.get('/v1/clients/x'), { message })
})

t.test('the error for an unreachable server names the cause', async t => {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')

  await t.rejects(apiOf(`http://127.0.0.1:${port}`).get('/v1/clients'), {
    errorCode: { code: 'server_unreachable', exit: 69 },
    message:
      /no server can be reached at http:\/\/127\.0\.0\.1:\d+: nothing listens at 127\.0\.0\.1:\d+ \(ECONNREFUSED\); is the server running\?/
  })
})

t.test('an operation is sent with its path and query, and a list is read to the last page', async t => {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    if (request.method !== 'GET') return void response.writeHead(204).end()
    const isFirst = !request.url?.includes('cursor')
    if (isFirst) response.setHeader('link', '</v1/rules?client=a+b&cursor=x>; rel="next"')
    response.end(JSON.stringify([{ rule_id: isFirst ? '1' : '2' }]))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  const api = apiOf(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)

  const rows = await api.rows('GET /v1/rules', { query: { client: 'a b', owner: undefined } })
  const done = await api.call('DELETE /v1/rules/{rule_id}', {
    path: { rule_id: 'a/b' },
    query: { ack_timeout_secs: 3 }
  })

  t.same(
    rows.map(({ rule_id }) => rule_id),
    ['1', '2']
  )
  t.equal(done, undefined)
  t.same(asked, [
    'GET /v1/rules?client=a+b',
    'GET /v1/rules?client=a+b&cursor=x',
    'DELETE /v1/rules/a%2Fb?ack_timeout_secs=3'
  ])
})

t.test('the path of the server is used for every request, also of later pages', async t => {
  const asked: (string | undefined)[] = []
  const server = createServer(({ url }, response) => {
    asked.push(url)
    if (!url?.includes('cursor')) response.setHeader('link', '</v1/rules?cursor=x>; rel="next"')
    response.end('[]')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo

  for (const path of ['/sluice', '/sluice/']) await apiOf(`http://127.0.0.1:${port}${path}`).list('/v1/rules')

  t.same(new Set(asked), new Set(['/sluice/v1/rules', '/sluice/v1/rules?cursor=x']))
})

t.test('an address of a server that would be used in part is refused', async t => {
  for (const [server, message] of [
    ['http://ann:secret@127.0.0.1', /has a user or a password/],
    ['http://127.0.0.1/?a=b', /has a query or a fragment/],
    ['http://127.0.0.1/#x', /has a query or a fragment/],
    ['127.0.0.1:7080', /is not the address of a server/],
    ['ftp://127.0.0.1', /is not the address of a server/]
  ] as const)
    await t.rejects(apiOf(server).get('/v1/clients'), { errorCode: { code: 'usage' }, message }, server)
})
