import { join } from 'node:path'
import t, { type Test } from 'tap'
import { offerPublicModules } from '../../../../kernel/platform/plugins/import-plugin.ts'
import type { Plugin } from '../../../../kernel/plugin.ts'
import { conform, testAgent, testServer } from '../../../../kit/public.ts'

offerPublicModules()
const { default: plugin } = (await import('../plugin.ts')) as { default: Plugin } // needs the modules of the line above

const section = { owner: 'web', title: '<Status> & more' }
const anonymous = { authorization: '' }
const form = { ...anonymous, 'content-type': 'application/x-www-form-urlencoded' }

/** Opens a server with the user web and the plugin. */
async function openServer(t: Test) {
  const server = await testServer(t, { plugins: [plugin], sections: { 'status-page': section } })
  await server.call('POST', '/v1/users', { user_id: 'web', display_name: 'Web', role: 'superadmin' })
  return server
}

t.test('the plugin passes sluice plugin check', async t => {
  t.same((await conform(join(import.meta.dirname, '..'), { section })).problems, [])
})

t.test('a visitor sees the states of the rules, with escaped names, and loads the script', async t => {
  const server = await openServer(t)
  const agent = await testAgent(t, server, 'paris <1>')
  const body = {
    client: agent.clientId,
    owner: 'web',
    listen_port: 8443,
    targets: [{ host: 'web', port: 443 }]
  }
  t.equal((await server.call('POST', '/v1/rules', body)).status, 201)

  const { status, text } = await server.call('GET', '/status', undefined, anonymous)

  t.equal(status, 200)
  t.match(text, '<title>&lt;Status&gt; &amp; more</title>')
  t.match(text, '<td>paris &lt;1&gt;</td><td>tcp 8443</td><td>active</td>')
  const [, script = ''] = /src="([^"]+)"/.exec(text) ?? []
  t.match(await server.call('GET', script, undefined, anonymous), { status: 200, text: /setInterval/ })
})

t.test(
  'a visitor can report a problem with the form, and reports older than an hour are not shown',
  async t => {
    const server = await openServer(t)
    const send = (body: string) => server.call('POST', '/status/reports', body, form)
    const shown = async () => (await server.call('GET', '/status', undefined, anonymous)).text

    t.equal((await send('works=perhaps')).status, 400)
    t.equal((await send('works=no')).status, 303)
    t.match(await shown(), /1 in the last hour/)
    await server.clock.advance(3_600_001)
    t.match(await shown(), /0 in the last hour/)
    for (let i = 0; i < 1000; i++) await send('works=no')
    t.equal((await send('works=no')).status, 429)
  }
)
