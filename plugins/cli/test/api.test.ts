// What a command says of a server that is not ours, or is not there.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { openApi } from '../api.ts'

const apiOf = (origin: string) => openApi({ origin, token: 'x', exitOf: async () => 1, plainHttp: 'refused' })

t.test('a redirect is not followed with the token; the error says where it leads', async t => {
  const asked: (string | undefined)[] = []
  const server = createServer(({ url }, response) => {
    asked.push(url)
    response.writeHead(301, { location: 'https://other.example/' }).end('moved')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  const api = apiOf(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)

  await t.rejects(api.get('/v1/clients'), {
    errorCode: { code: 'internal', http: 301 },
    message: /status 301 .*not from a sluice server; it leads to https:\/\/other\.example\//
  })
  t.same(asked, ['/v1/clients'])
})

t.test('a server that does not answer is named with the cause', async t => {
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
