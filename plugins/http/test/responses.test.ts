import t from 'tap'
import { Type } from 'typebox'
import { Fault, rateLimited } from '../../../kernel/base/errors.ts'
import { defineRoute } from '../../../kernel/http/route.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { httpFixture, operator } from './fixture.ts'

const get = (url: string, run: () => Promise<unknown>) =>
  defineRoute({
    method: 'GET',
    url,
    action: `thing.${url.split('/').at(-1)}`,
    access: 'public',
    status: 200,
    summary: 'Gets.',
    schema: () => ({ params: Type.Object({ id: Type.Optional(Type.String()) }), reply: Type.Unknown() }),
    run: async (_deps: Kernel) => run()
  })

t.test('a failure shows its request id and nothing else, and is logged once', async t => {
  const routes = [get('/v1/break', async () => Promise.reject(new Error('password is hunter2')))]
  const { send, log } = await httpFixture(t, { routes })

  const { status, body, headers } = await send('GET', '/v1/break', { 'x-request-id': 'my-1' })

  t.equal(status, 500)
  t.equal(headers['x-request-id'], 'my-1')
  t.match(body.error, { code: 'internal', message: /my-1/ })
  t.notMatch(JSON.stringify(body), /hunter2/)
  t.match(log, [
    { level: 'error', event: 'request.failed', fields: { request_id: 'my-1', error: /hunter2/ } }
  ])
})

t.test('a route without content can have a value for some callers', async t => {
  const routes = ['/v1/value', '/v1/nothing'].map(url =>
    defineRoute({
      method: 'POST',
      url,
      action: `thing.${url.slice(4)}`,
      access: 'public',
      status: 204,
      summary: 'Ends.',
      schema: () => ({ reply: Type.Union([Type.Object({ next: Type.String() }), Type.Null()]) }),
      run: async (_deps: Kernel) => (url === '/v1/value' ? { next: 'there' } : null)
    })
  )
  const { send } = await httpFixture(t, { routes })
  const json = { ...operator, 'content-type': 'application/json' }
  t.match(await send('POST', '/v1/value', json, '{}'), { status: 200, body: { next: 'there' } })
  t.match(await send('POST', '/v1/nothing', json, '{}'), { status: 204, body: undefined })
})

t.test('a thrown value that is not an Error is a failure, too', async t => {
  const { send, log } = await httpFixture(t, {
    routes: [get('/v1/break', async () => Promise.reject(undefined))]
  })

  t.match(await send('GET', '/v1/break'), { status: 500, body: { error: { code: 'internal' } } })
  t.equal(log.length, 1)
})

t.test('every response has a request id, that of the request if it is well-formed', async t => {
  const { send } = await httpFixture(t, { routes: [get('/v1/hello', async () => ({}))] })
  const idOf = async (url: string, id: string) =>
    (await send('GET', url, { 'x-request-id': id })).headers['x-request-id']

  for (const url of ['/v1/hello', '/v1/nowhere', '/v1/%zz', '/v1/hello?x=1']) {
    t.equal(await idOf(url, 'a.b_c-9'), 'a.b_c-9', url)
    t.match(await idOf(url, 'a b'), /^[0-9A-Z]{26}$/, url)
    t.match(await idOf(url, 'a'.repeat(65)), /^[0-9A-Z]{26}$/, url)
  }
})

t.test('a path that is not a valid URL is not found; a long parameter reaches the route', async t => {
  const { send } = await httpFixture(t, { routes: [get('/v1/things/:id', async () => ({}))] })

  t.match(await send('GET', '/v1/things/%zz'), { status: 404, body: { error: { code: 'not_found' } } })
  t.match(await send('GET', `/v1/things/${'a'.repeat(5000)}`), { status: 200 })
})

t.test('64-bit counters are printed in full', async t => {
  const { http } = await httpFixture(t, {
    routes: [get('/v1/count', async () => ({ bytes: 2n ** 63n - 1n }))]
  })

  const { body } = await http.app.inject('/v1/count')

  t.equal(body, '{"bytes":9223372036854775807}')
})

t.test('HEAD is answered like GET, without the body', async t => {
  const { http } = await httpFixture(t, { routes: [get('/v1/hello', async () => ({ a: 1 }))] })

  const { statusCode, body, headers } = await http.app.inject({ method: 'HEAD', url: '/v1/hello' })

  t.match({ statusCode, body, length: headers['content-length'] }, { statusCode: 200, body: '', length: '7' })
})

t.test('a refusal with retry_after_secs has the header Retry-After', async t => {
  const details = { retry_after_secs: 59.2 }
  const routes = [get('/v1/later', async () => Promise.reject(new Fault(rateLimited, 'later', { details })))]
  const { send } = await httpFixture(t, { routes })

  t.match(await send('GET', '/v1/later', operator), { status: 429, headers: { 'retry-after': 60 } })
})
