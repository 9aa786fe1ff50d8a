import { writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import t, { type Test } from 'tap'
import { plugins } from '../../../config/plugins.ts'
import { definePlugin } from '../../../kernel/plugin.ts'
import { testServer } from '../../../kit/public.ts'
import { testServer as bareServer } from '../../../kit/test-server.ts'
import { type ConsoleCard, type ConsolePage, consoleCardSlot, consolePageSlot } from '../exports.ts'

type Row = { readonly module: string; readonly element: string }

const script = 'customElements.define("acme-idle-page", class extends HTMLElement {})'

function moduleIn(t: Test): URL {
  const file = `${t.testdir()}/part.js`
  writeFileSync(file, script)
  return pathToFileURL(file)
}

const bringing = (page: ConsolePage, card?: ConsoleCard) =>
  definePlugin({
    name: 'acme-idle',
    version: '1.0.0',
    kernel: '^2.0.0',
    fills: [consolePageSlot.fill(page), ...(card ? [consoleCardSlot.fill(card)] : [])]
  })

const pageOf = (module: URL): ConsolePage => ({
  name: 'idle',
  title: { en: 'Idle' },
  module,
  element: 'acme-idle-page',
  role: 'superadmin'
})

t.test(
  'parts of plugins are listed for users who may see them, and browsers cache their scripts',
  async t => {
    const module = moduleIn(t)
    const card = {
      on: 'rule',
      title: { en: 'Idle', de: 'Ruhend' },
      module,
      element: 'acme-idle-card'
    } as const
    const server = await testServer(t, { plugins: [bringing(pageOf(module), card)] })

    const { body: all } = await server.call<Row[]>('GET', '/v1/console/parts')
    const { body: own } = await server.as({ user: 'ann' })<Row[]>('GET', '/v1/console/parts')

    t.match(all, [
      { plugin: 'acme-idle', on: 'page', name: 'idle', title: { en: 'Idle', de: 'Idle' } },
      { plugin: 'acme-idle', on: 'rule', name: null, title: { en: 'Idle', de: 'Ruhend' } }
    ])
    t.match(own, [{ element: 'acme-idle-card' }])
    t.equal(own.length, 1)
    const { status, text, headers } = await server.call('GET', all[0]?.module ?? '')
    t.match({ status, text }, { status: 200, text: script })
    t.match(headers, { 'content-type': /^text\/javascript/, 'cache-control': /immutable/ })
    t.equal((await server.call('GET', '/v1/console/modules/acme-idle-0.js')).status, 404)
    t.equal(
      (await server.as('nobody')('GET', all[0]?.module ?? '')).status,
      200,
      'a script has no credential'
    )
  }
)

t.test('a script has another name in each store, so that strangers cannot compute it', async t => {
  const names = new Set<string | undefined>()
  for (const what of ['one store', 'another store'])
    await t.test(what, async t => {
      const server = await testServer(t, { plugins: [bringing(pageOf(moduleIn(t)))] })
      const { body } = await server.call<Row[]>('GET', '/v1/console/parts')
      names.add(body[0]?.module)
    })

  t.equal(names.size, 2)
})

t.test('an invalid part stops the start and names its plugin', async t => {
  const module = moduleIn(t)
  const wrong: readonly [Partial<ConsolePage>, RegExp][] = [
    [{ module: new URL('gone.js', module) }, /plugin acme-idle: acme-idle-page .*cannot be read/],
    [{ element: 'page' }, /plugin acme-idle: page .*a hyphen/],
    [{ name: 'My page' }, /name must be in kebab-case, got My page/],
    [{ title: { en: ' ' } }, /title.en must not be empty/]
  ]
  for (const [part, message] of wrong)
    await t.rejects(testServer(t, { plugins: [bringing({ ...pageOf(module), ...part })] }), { message })
})

t.test('a plugin with a page starts without the console', async t => {
  const others = Object.keys(plugins).filter(name => name !== 'console')
  const server = await bareServer(t, { plugins: [...others, bringing(pageOf(moduleIn(t)))] })

  t.equal((await server.call('GET', '/v1/console/parts')).status, 404)
})
