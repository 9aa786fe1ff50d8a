import t from 'tap'
import { Type } from 'typebox'
import { currentRequestId } from '../../../kernel/base/request-id.ts'
import { currentTrace } from '../../../kernel/base/trace.ts'
import { defineRoute } from '../../../kernel/http/route.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { parseTraceparent, traceIdOf } from '../request/traceparent.ts'
import { httpFixture } from './fixture.ts'

const id = '4bf92f3577b34da6a3ce929d0e0e4736'
const span = '00f067aa0ba902b7'

t.test('a traceparent is read as W3C Trace Context says', async t => {
  const cases: readonly (readonly [string | undefined, string | null])[] = [
    [`00-${id}-${span}-01`, id],
    [`cc-${id}-${span}-01`, id],
    [`cc-${id}-${span}-01-what-the-future-holds`, id],
    [`00-${id}-${span}-01-more`, null],
    [`cc-${id}-${span}-01.more`, null],
    [`ff-${id}-${span}-01`, null],
    [`00-${'0'.repeat(32)}-${span}-01`, null],
    [`00-${id}-${'0'.repeat(16)}-01`, null],
    [`00-${id.toUpperCase()}-${span}-01`, null],
    [`00-${id.slice(1)}-${span}-01`, null],
    [`00-${id}-${span}`, null],
    [`00-${id}-${span}-01, 00-${id}-${span}-01`, null],
    ['', null],
    [undefined, null]
  ]
  for (const [header, expected] of cases) {
    const traceparent = parseTraceparent(header)
    t.equal(traceparent && traceIdOf(traceparent), expected, String(header))
  }
})

t.test('the work of a request has its trace id, or none if the header is absent or malformed', async t => {
  const seen: unknown[] = []
  const route = defineRoute({
    method: 'GET',
    url: '/v1/seen',
    action: 'thing.seen',
    access: 'public',
    summary: 'Sees.',
    schema: () => ({ reply: Type.Object({}) }),
    async run(_: Kernel) {
      seen.push([currentRequestId.getStore(), currentTrace.getStore()?.traceparent])
      return {}
    }
  })
  const { send, log } = await httpFixture(t, { routes: [route] })

  for (const headers of [{ traceparent: `00-${id}-${span}-01` }, {}, { traceparent: 'nonsense' }])
    t.match(await send('GET', '/v1/seen', { 'x-request-id': 'r', ...headers }), { status: 200 })

  t.same(seen, [
    ['r', `00-${id}-${span}-01`],
    ['r', undefined],
    ['r', undefined]
  ])
  t.match(log, [
    {
      level: 'debug',
      event: 'request.traced',
      message: 'GET /v1/seen: 200',
      fields: { request_id: 'r', trace_id: id, status: 200 }
    }
  ])
  t.equal(log.length, 1)
})
