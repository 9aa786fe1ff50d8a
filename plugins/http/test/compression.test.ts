import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { Type } from 'typebox'
import { defineRoute, type Route } from '../../../kernel/http/route.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { defineList } from '../exports.ts'
import { httpFixture, superadmin } from './fixture.ts'

const rows = Array.from({ length: 200 }, (_, i) => ({ name: `row ${i}` }))

const list = (url: string, found: readonly object[]) =>
  defineList({
    url,
    action: `thing.${url.split('/').at(-1)}`,
    access: 'user',
    summary: 'Lists.',
    schema: () => ({ row: Type.Object({ name: Type.String() }) }),
    run: async (_: Kernel) => found as { name: string }[]
  })

const read = (url: string, more: Partial<Route<Kernel>>) =>
  defineRoute({
    method: 'GET',
    url,
    action: `thing.${url.split('/').at(-1)}`,
    access: 'user',
    summary: 'Reads.',
    schema: () => ({ reply: Type.Unknown() }),
    run: async (_: Kernel) => ({ rows }),
    ...more
  })

const routes = [
  list('/v1/many', rows),
  list('/v1/few', rows.slice(0, 2)),
  read('/v1/record', { record: () => ({ kind: 'x', id: 'x', version: async () => 7 }) }),
  read('/v1/secret', { secrets: ['token'] })
]

t.test('a long response is compressed for callers that accept gzip', async t => {
  const { http } = await httpFixture(t, { routes })
  const get = (url: string, accepted: string) =>
    http.app.inject({ url, headers: { ...superadmin, 'accept-encoding': accepted } })

  const plain = await get('/v1/many', 'identity')
  const small = await get('/v1/many', 'br, gzip')

  t.match(plain, { statusCode: 200, headers: { vary: 'accept-encoding', 'content-encoding': undefined } })
  t.match(small, { statusCode: 200, headers: { vary: 'accept-encoding', 'content-encoding': 'gzip' } })
  t.equal(gunzipSync(small.rawPayload).toString(), plain.body)
  t.equal(Number(small.headers['content-length']), small.rawPayload.length)
  t.ok(small.rawPayload.length < plain.rawPayload.length / 4)
})

t.test('a response that is short, has an ETag or contains secrets is not compressed', async t => {
  const { http } = await httpFixture(t, { routes })

  for (const url of ['/v1/few', '/v1/record', '/v1/secret']) {
    const reply = await http.app.inject({ url, headers: { ...superadmin, 'accept-encoding': 'gzip' } })
    t.match(reply, { statusCode: 200, headers: { 'content-encoding': undefined, vary: undefined } }, url)
  }
})

t.test('only some of many concurrent responses are compressed, and none waits for another', async t => {
  const { http } = await httpFixture(t, { routes })
  const headers = { ...superadmin, 'accept-encoding': 'gzip' }

  const replies = await Promise.all(
    Array.from({ length: 40 }, () => http.app.inject({ url: '/v1/many', headers }))
  )

  const bodies = replies.map(({ headers, rawPayload }) =>
    (headers['content-encoding'] === 'gzip' ? gunzipSync(rawPayload) : rawPayload).toString()
  )
  t.equal(new Set(bodies).size, 1)
  t.ok(replies.some(({ headers }) => headers['content-encoding'] === 'gzip'))
})
