import { randomBytes } from 'node:crypto'
import t from 'tap'
import { Type } from 'typebox'
import { defineRoute } from '../../../kernel/http/route.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { readJsonText } from '../request/json-body.ts'
import { httpFixture, superadmin } from './fixture.ts'

const routes = [
  defineRoute({
    method: 'POST',
    url: '/v1/things',
    action: 'thing.make',
    access: 'user',
    summary: 'Makes.',
    bodyBytes: 2 ** 20,
    schema: () => ({ body: Type.Unknown(), reply: Type.Unknown() }),
    run: async (_deps: Kernel, { body }) => body
  })
]
const json = { ...superadmin, 'content-type': 'application/json' }
const keyed = { ...json, 'idempotency-key': 'first-try' }

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
const wide = (members: number): string =>
  `{${Array.from({ length: members }, (_, at) => `"k${at}":${at}`).join()}}`

t.test('a body with more than 32 levels is refused, with an Idempotency-Key as well', async t => {
  const { send, log } = await httpFixture(t, { routes })

  for (const headers of [json, keyed]) {
    for (const text of [nested(33), nested(200_000), '['.repeat(500_000), `${'{"a":'.repeat(33)}1`])
      t.match(await send('POST', '/v1/things', headers, text), {
        status: 400,
        body: { error: { code: 'validation.depth', details: { reason: 'depth', limit: 32 } } }
      })
    t.match(await send('POST', '/v1/things', headers, nested(32)), { status: 200 })
  }
  const deep = `{"a/b":[1,{"c":${nested(30)}}]}`
  t.match((await send('POST', '/v1/things', json, deep)).body.error, {
    message: `/a~1b/1/c${'/0'.repeat(29)} is nested deeper than 32 levels; send a flatter body`
  })
  t.same(log, [])
})

t.test('an object with more than 1,000 members is refused, however they are named', async t => {
  const { send } = await httpFixture(t, { routes })
  const post = (text: string) => send('POST', '/v1/things', json, text)
  const refused = (field: string) => ({
    status: 400,
    body: { error: { code: 'validation.schema', details: { field, reason: 'maxProperties', limit: 1000 } } }
  })

  t.match(await post(wide(1000)), { status: 200 })
  t.match(await post(wide(1001)), refused(''))
  t.match(await post(`{${'"a":1,'.repeat(1000)}"a":1}`), refused(''))
  t.match(await post(`{"b":[{"x\\"":0,"c":[],"d":${wide(1001)}}]}`), refused('/b/0/d'))
  t.match(await post(`[${'{"a":{"b":1}},'.repeat(5000)}0]`), { status: 200 })
})

t.test('brackets, commas and colons in texts do not count', async t => {
  const { send } = await httpFixture(t, { routes })
  const text = '[{:,}]\\"'.repeat(2000)

  t.match(await send('POST', '/v1/things', json, JSON.stringify({ [text]: text })), {
    status: 200,
    body: { [text]: text }
  })
})

t.test('malformed JSON is refused as such, whatever its brackets', async t => {
  const { send, log } = await httpFixture(t, { routes })

  for (const text of ['}', ']]]{', '{"a":1', '"a', '"a\\', ':::', ',', '{"a"}', `${']'.repeat(50)}[`, '\\'])
    t.match(await send('POST', '/v1/things', json, text), {
      status: 400,
      body: { error: { code: 'invalid_json' } }
    })
  t.same(log, [])
})

t.test('invalid UTF-8 is refused with its offset', async t => {
  const { http } = await httpFixture(t, { routes })
  const wrong: readonly [string, number][] = [
    ['22ff22', 1],
    ['22c3', 1], // cut
    ['22c3a4efbfbde282', 6], // a real U+FFFD before
    ['eda080', 0], // a surrogate
    ['c0af', 0] // overlong
  ]
  for (const [hex, offset] of wrong) {
    const reply = await http.app.inject({
      method: 'POST',
      url: '/v1/things',
      headers: json,
      payload: Buffer.from(hex, 'hex')
    })
    t.equal(reply.statusCode, 400, hex)
    t.match(reply.json(), { error: { code: 'invalid_json', details: { offset } } }, hex)
  }
})

t.test('the offset is that of the first wrong byte of any bytes', async t => {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  const isValid = (bytes: Buffer): boolean => {
    try {
      decoder.decode(bytes)
      return true
    } catch {
      return false
    }
  }
  for (let run = 0; run < 300; run++) {
    const valid = Buffer.from('aä€😀\ufffd'.repeat(run % 7))
    const bytes = Buffer.concat([valid, randomBytes(1 + (run % 9))])
    if (isValid(bytes)) continue
    let offset = bytes.length
    while (!isValid(bytes.subarray(0, offset))) offset--
    t.throws(() => readJsonText(bytes), { message: /UTF-8/, details: { offset } }, bytes.toString('hex'))
  }
})

t.test('valid JSON with a key that could change a prototype is refused for that key', async t => {
  const { send } = await httpFixture(t, { routes })
  for (const text of ['{"__proto__":{}}', '{"constructor":{"prototype":{}}}'])
    t.match(await send('POST', '/v1/things', json, text), {
      status: 400,
      body: { error: { code: 'invalid_json', message: /has a key __proto__ or constructor/ } }
    })
  t.match(await send('POST', '/v1/things', json, '{"__proto__":{}'), {
    body: { error: { message: 'the body is not JSON' } }
  })
})

t.test('compressed bodies and other charsets are refused', async t => {
  const { send } = await httpFixture(t, { routes })
  const post = (headers: object) => send('POST', '/v1/things', { ...json, ...headers }, '{}')
  const refused = (message: RegExp) => ({
    status: 415,
    body: { error: { code: 'unsupported_media_type', message } }
  })

  for (const coding of ['gzip', 'br', 'identity, gzip', ''])
    t.match(await post({ 'content-encoding': coding }), refused(/without Content-Encoding/), coding)
  t.match(await post({ 'content-encoding': 'Identity' }), { status: 200 })
  for (const charset of ['utf-16', 'iso-8859-1', '"us-ascii"', 'utf-8; charset=utf-16'])
    t.match(await post({ 'content-type': `application/json; charset=${charset}` }), refused(/UTF-8/), charset)
  for (const charset of ['utf-8', 'UTF-8', '"utf-8"', 'utf8'])
    t.match(await post({ 'content-type': `application/json;charset=${charset}` }), { status: 200 }, charset)
})
