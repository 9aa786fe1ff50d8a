// Tools for pages of plugins: escaped HTML, files with hashes, forms with files.
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { Type } from 'typebox'
import { defineRoute, type Media } from '../../../kernel/http/route.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { openAssets } from '../pages/assets.ts'
import { html, page } from '../pages/html.ts'
import { FormFile } from '../request/form-body.ts'
import { httpFixture } from './fixture.ts'

t.test('every value in HTML is escaped, except HTML itself', async t => {
  const name = `<img src="x" onerror='go()'> & more`
  const items = [html`<li>${1}</li>`, html`<li>${name}</li>`]

  t.equal(
    String(html`<ul title="${name}">${items}</ul>${null}${undefined}${false}`),
    '<ul title="&lt;img src=&quot;x&quot; onerror=&#39;go()&#39;&gt; &amp; more"><li>1</li>' +
      '<li>&lt;img src=&quot;x&quot; onerror=&#39;go()&#39;&gt; &amp; more</li></ul>'
  )
  t.equal(String(html`${{ toString: () => '<b>' }}`), '&lt;b&gt;', 'an object that only looks like HTML')
  t.match(page(html`<p>`, 404), { status: 404, type: 'text/html; charset=utf-8', body: '<!doctype html><p>' })
})

t.test('an asset is cacheable forever, under a name that changes with its content', async t => {
  const dir = t.testdir({ 'page.js': 'go()', 'logo.svg': '<svg/>', folder: { 'deep.js': '' } })
  const folder = pathToFileURL(`${dir}/`)
  const assets = openAssets(folder, '/status')
  const { http } = await httpFixture(t, { routes: assets.routes })
  const get = (url: string) => http.app.inject({ url })

  t.match(assets.path('page.js'), /^\/status\/page-[0-9a-f]{16}\.js$/)
  t.match(await get(assets.path('page.js')), {
    statusCode: 200,
    body: 'go()',
    headers: {
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff'
    }
  })
  t.match(await get(assets.path('logo.svg')), {
    statusCode: 200,
    headers: { 'content-type': /^image\/svg/ }
  })
  t.equal((await get('/status/page.js')).statusCode, 404)
  t.equal(assets.routes.length, 2, 'files in folders are left out')
  t.throws(() => assets.path('other.js'), /there is no file other\.js/)

  const changed = openAssets(pathToFileURL(`${t.testdir({ 'page.js': 'stop()' })}/`), '/status')
  t.not(changed.path('page.js'), assets.path('page.js'))
  t.throws(() => openAssets(pathToFileURL(`${t.testdir({ 'a.odd-type': '' })}/`), '/x'), /no media type/)
  t.throws(
    () => openAssets(pathToFileURL(`${t.testdir({ ':a.js': '' })}/`), '/x'),
    /:a\.js: the name of an asset/
  )
})

const upload = defineRoute({
  method: 'POST',
  url: '/status/upload',
  action: 'page.upload',
  access: 'public',
  summary: 'Takes files.',
  reply: 'media',
  takesForm: true,
  bodyBytes: 64 * 1024,
  schema: () => ({
    body: Type.Object(
      {
        note: Type.String({ maxLength: 10 }),
        file: Type.Union([FormFile, Type.Array(FormFile, { maxItems: 3 })])
      },
      { additionalProperties: false }
    ),
    reply: Type.Unknown()
  }),
  run: async (_deps: Kernel, { body: { note, file } }): Promise<Media> => ({
    type: 'application/json',
    body: JSON.stringify({
      note,
      files: [file].flat().map(({ name, type, bytes }) => [name, type, Buffer.from(bytes).toString('base64')])
    })
  })
})

t.test('a form with files is parsed, bounded, and checked by the schema', async t => {
  const { http } = await httpFixture(t, { routes: [upload] })
  const post = async (fields: readonly (readonly [string, string | File])[], type?: string) => {
    const form = new FormData()
    for (const [name, value] of fields) form.append(name, value)
    const body = new Response(form)
    const headers = { 'content-type': type ?? body.headers.get('content-type') ?? '' }
    const payload = Buffer.from(await body.arrayBuffer())
    return http.app.inject({ method: 'POST', url: '/status/upload', headers, payload })
  }
  const file = (bytes: Uint8Array<ArrayBuffer>, name: string) =>
    new File([bytes], name, { type: 'image/png' })
  const bytes = new Uint8Array([0x89, 0, 13, 10, 255])

  const one = await post([
    ['note', 'hello'],
    ['file', file(bytes, 'a.png')]
  ])
  t.same(one.json(), {
    note: 'hello',
    files: [['a.png', 'image/png', Buffer.from(bytes).toString('base64')]]
  })
  const two = await post([
    ['note', ''],
    ['file', file(bytes, 'a')],
    ['file', file(bytes, '../../b')]
  ])
  t.match(two.json(), { files: [['a'], ['../../b']] })

  const refused = async (reply: ReturnType<typeof post>) => {
    const { statusCode, body } = await reply
    return [statusCode, JSON.parse(body).error.code]
  }
  t.same(
    await refused(
      post([
        ['note', 'x'],
        ['file', 'text']
      ])
    ),
    [400, 'validation.schema']
  )
  t.same(
    await refused(
      post([
        ['note', file(bytes, 'a')],
        ['file', file(bytes, 'a')]
      ])
    ),
    [400, 'validation.schema']
  )
  t.same(await refused(post([['nose', 'x']])), [400, 'validation.unknown_field'])
  t.same(await refused(post(Array.from({ length: 201 }, () => ['note', 'x'] as const))), [
    400,
    'invalid_form'
  ])
  t.same(await refused(post([['note', 'x']], 'multipart/form-data; boundary=other')), [400, 'invalid_form'])
  t.same(await refused(post([['note', 'x']], 'multipart/form-data')), [400, 'invalid_form'])
  t.same(await refused(post([['file', file(new Uint8Array(2 ** 20), 'a')]])), [413, 'body_too_large'])
})
