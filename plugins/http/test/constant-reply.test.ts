import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { testServer } from '../../../kit/test-server.ts'

const url = '/v1/openapi.json'

t.test('the document is compressed for callers that accept gzip, and plain for others', async t => {
  const { server } = await testServer(t)
  const { app } = server.http
  const read = (accepted?: string) =>
    app.inject({ url, headers: accepted === undefined ? {} : { 'accept-encoding': accepted } })

  const plain = await read()
  t.match(plain, { statusCode: 200, headers: { vary: 'accept-encoding' } })
  t.equal(Number(plain.headers['content-length']), plain.rawPayload.length)
  for (const accepted of ['gzip', 'br, gzip;q=0.5', 'GZIP']) {
    const small = await read(accepted)
    t.equal(small.headers['content-encoding'], 'gzip', accepted)
    t.same(gunzipSync(small.rawPayload), plain.rawPayload)
  }
  for (const accepted of ['br', 'gzip;q=0', 'identity'])
    t.equal((await read(accepted)).headers['content-encoding'], undefined, accepted)
})

t.test('a caller that has the document gets 304', async t => {
  const { server } = await testServer(t)
  const { app } = server.http
  const { etag = '' } = (await app.inject({ url })).headers
  const read = (tag: string) => app.inject({ url, headers: { 'if-none-match': tag } })

  for (const tag of [String(etag), `"other", ${etag}`, String(etag).slice(2), '*']) {
    const unchanged = await read(tag)
    t.match([unchanged.statusCode, unchanged.body, unchanged.headers.etag], [304, '', etag], tag)
  }
  t.equal((await read('"other"')).statusCode, 200)
})

t.test('HEAD of the document has its length and no body', async t => {
  const { server } = await testServer(t)
  const { app } = server.http

  const head = await app.inject({ method: 'HEAD', url })

  t.match([head.statusCode, head.body], [200, ''])
  t.equal(head.headers['content-length'], (await app.inject({ url })).headers['content-length'])
})
