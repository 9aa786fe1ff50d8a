// The property `link` of a client: where it listens for links.
import t from 'tap'
import { openCallers } from '../../../kit/callers.ts'
import { linksFixture } from './fixture.ts'

t.test('the endpoint of a client has defaults, and shows the hosts that are dialed now', async t => {
  const { app, call, edge, setEndpoint } = await linksFixture(t)
  const { id } = await edge('paris')
  const link = async () => (await call<{ link: unknown }>('GET', `/v1/clients/${id}`)).body.link
  t.equal(await link(), null)

  const { body } = await setEndpoint(id, {})

  const seen = { port: 7444, hosts: null, effective_hosts: ['127.0.0.1'], guessed: true }
  t.same(body.link, seen)
  t.same(await link(), seen)
  await call('PUT', `/v1/clients/${id}`, { address: 'paris.example' })
  t.same(await link(), { ...seen, effective_hosts: ['paris.example'], guessed: false })
  await setEndpoint(id, { port: 7500, hosts: ['a.example', '::1', 'a.example'] })
  const hosts = ['a.example', '::1']
  t.same(await link(), { port: 7500, hosts, effective_hosts: hosts, guessed: false })
  t.equal((await setEndpoint(id, await link())).status, 200, 'a record can be sent back')
  await setEndpoint(id, null)
  t.equal(await link(), null)
  t.match(app.decisions.at(-1), {
    action: 'client.change',
    changes: [{ field: 'link', from: { port: 7500, hosts }, to: null }]
  } as object)
})

t.test('an invalid endpoint is refused with its field', async t => {
  const { edge, setEndpoint } = await linksFixture(t)
  const { id } = await edge('paris')
  const refused = async (link: unknown) => (await setEndpoint(id, link)).body.error
  for (const [link, field] of [
    [{ port: 0 }, '/link/port'],
    [{ port: 65_536 }, '/link/port'],
    [{ hosts: [] }, '/link/hosts'],
    [{ hosts: Array.from({ length: 9 }, (_, at) => `h${at}.example`) }, '/link/hosts'],
    [{ hosts: ['ok.example', 'paris.example:7444'] }, '/link/hosts/1'],
    [{ hosts: ['[::1]'] }, '/link/hosts/0'],
    [7444, '/link']
  ] as const)
    t.match(await refused(link), { code: 'validation.link', details: { field } }, JSON.stringify(link))
})

t.test('an endpoint and a rule cannot have the same port', async t => {
  const { call, edge, setEndpoint } = await linksFixture(t)
  const { id } = await edge('paris')
  const targets = [{ host: '10.0.0.1', port: 80 }]
  const push = (listen_port: number) =>
    call<{ rule_id: string; error: object }>('POST', '/v1/rules', { client: id, listen_port, targets })
  const { body: rule } = await push(7444)

  t.match(await setEndpoint(id, {}), {
    status: 409,
    body: { error: { code: 'port_in_use', details: { port: 7444, rule_id: rule.rule_id } } }
  } as object)
  t.equal((await setEndpoint(id, { port: 7500 })).status, 200)
  t.match(await push(7500), {
    status: 409,
    body: { error: { code: 'port_in_use', details: { port: 7500 } } }
  } as object)
  t.match(await call('PATCH', `/v1/rules/${rule.rule_id}`, { listen_port: 7500 }), {
    status: 409,
    body: { error: { code: 'port_in_use' } }
  } as object)
  await setEndpoint(id, null)
  t.equal((await push(7500)).status, 201)
})

t.test('viewers read endpoints, users read null, and only operators set them', async t => {
  const { app, edge, setEndpoint } = await linksFixture(t)
  const { id } = await edge('paris')
  await setEndpoint(id, {})
  const as = openCallers(app.call)
  const path = `/v1/clients/${id}`
  await app.call('POST', '/v1/users', { user_id: 'ann', display_name: 'ann', role: 'user' })
  await app.call('POST', '/v1/grants', {
    user_id: 'ann',
    client_id: id,
    listen_port_start: 8000,
    listen_port_end: 8999,
    protocols: ['tcp']
  })
  const ann = as({ user: 'ann', by: 'api_token' })
  const viewer = as({ user: 'vic', role: 'viewer', by: 'api_token' })

  t.match((await viewer('GET', path)).body, { link: { port: 7444 } })
  t.match((await ann('GET', path)).body, { link: null })
  t.match((await ann('GET', '/v1/clients')).body, [{ link: null }])
  for (const call of [ann, viewer])
    t.match(await call('PATCH', path, { link: null }), {
      status: 403,
      body: { error: { code: 'role_required' } }
    } as object)
})
