// The life of links, and the objects that agents get for them.
import t from 'tap'
import type { LinkRecord } from '../schema.ts'
import { LinkRemove, LinkSet } from '../wire.ts'
import { linksFixture, linksOf, pinOf } from './fixture.ts'

t.test(
  'both clients of a link get its object with the first rule, and lose it with the last one',
  async t => {
    const { edge, rule, remove, setEndpoint, list, reportKey } = await linksFixture(t)
    const [entry, exit] = [await edge('entry'), await edge('exit')]
    await setEndpoint(entry.id, { hosts: ['entry.example'] })
    await reportKey(entry.agent, { pin: pinOf('a') })
    await reportKey(exit.agent, { pin: pinOf('b') })

    const first = await rule(entry.id, [exit.id])
    const second = await rule(entry.id, [exit.id])

    const [link, ...others] = await list()
    t.same(others, [])
    t.match(link, {
      clients: [
        { client_id: entry.id, client_name: 'entry', role: 'listener' },
        { client_id: exit.id, role: 'dialer' }
      ],
      direction: 'auto',
      hosts: null,
      udp_wanted: true,
      udp: 'off',
      rules: 2,
      encryption: 'tls',
      labels: {}
    } as object)
    const id = link?.link_id
    await entry.agent.until(LinkSet.name)
    await exit.agent.until(LinkSet.name)
    const settings = { id, direction: 'auto', max_idle: 64, dead_secs: 60, lease_hours: 0 }
    t.same(linksOf(entry.agent), [
      {
        ...settings,
        side: 'near',
        peer_id: exit.id,
        peer_name: 'exit',
        peer_pins: [pinOf('b')],
        peer_hosts: [],
        listen_port: 7444
      }
    ])
    t.same(linksOf(exit.agent), [
      {
        ...settings,
        side: 'far',
        peer_id: entry.id,
        peer_name: 'entry',
        peer_pins: [pinOf('a')],
        peer_port: 7444,
        peer_hosts: ['entry.example']
      }
    ])

    await remove(entry.agent, first)
    t.match(await list(), [{ rules: 1 }])
    await remove(entry.agent, second)
    t.same(await list(), [])
    t.match((await entry.agent.until(LinkRemove.name)).body, { id, removal: 'drain' })
    t.match((await exit.agent.until(LinkRemove.name)).body, { id, removal: 'drain' })
  }
)

t.test('a link with a setting outlives its rules until the setting has its default again', async t => {
  const { app, call, edge, rule, remove, setEndpoint, list } = await linksFixture(t)
  const [entry, exit] = [await edge('entry'), await edge('exit')]
  await setEndpoint(exit.id, {})
  const id = await rule(entry.id, [exit.id])
  const [link] = await list()
  const path = `/v1/links/${link?.link_id}`

  const changed = await call<LinkRecord>('PATCH', path, {
    direction: 'direct',
    hosts: ['10.0.0.9', '10.0.0.9'],
    udp: false,
    labels: { env: 'prod' }
  })

  t.match(changed, {
    status: 200,
    body: { direction: 'direct', hosts: ['10.0.0.9'], udp_wanted: false, labels: { env: 'prod' } }
  } as object)
  t.match((await entry.agent.until(LinkSet.name, 2)).body, {
    link: { direction: 'direct', peer_port: 7444, peer_hosts: ['10.0.0.9'] }
  })
  t.match(app.decisions.at(-1), {
    action: 'link.change',
    changes: [{ field: 'direction', from: 'auto', to: 'direct' }, {}, {}, {}]
  } as object)
  t.match(await list('?selector=env%3Dprod'), [{}])
  t.same(await list('?selector=env%3Dtest'), [])

  await remove(entry.agent, id)
  t.match(await list(), [{ rules: 0 }])
  await entry.agent.until(LinkRemove.name)
  await call('PATCH', path, { direction: 'auto', hosts: null, udp: true, labels: null })
  t.same(await list(), [])
  t.match(await call('PATCH', path, { udp: true }), {
    status: 404,
    body: { error: { code: 'link_not_found' } }
  } as object)
})

t.test('the links of the earlier path stay until the agent of the rule has the change', async t => {
  const { deps, edge, rule, setEndpoint, setPath, list } = await linksFixture(t)
  const [entry, exit, other] = [await edge('entry'), await edge('exit'), await edge('other')]
  await setEndpoint(entry.id, {})
  await setEndpoint(other.id, {})
  const id = await rule(entry.id, [exit.id])
  const { store, ruleLinks, rules } = deps()
  const [before] = await store.read(em => rules.matching({ id }, em))
  if (!before) throw new TypeError('there is no rule')
  const next = {
    ...before,
    targets: [{ host: '10.0.0.1', port: 80, priority: 1, path: [other.id, exit.id] }]
  }
  const pairs = async () =>
    (await list()).map(({ clients }) => clients.map(client => client.client_name).join('/')).sort()

  await store.change(em => ruleLinks.changed([{ ...next, before: {} as never }], { isStored: false }, em))
  t.same(await pairs(), ['entry/exit', 'entry/other', 'other/exit'])
  await store.change(em => ruleLinks.applied(next, em))
  t.same(await pairs(), ['entry/other', 'other/exit'])

  await setPath(id, [])
  t.same(await pairs(), [], 'a rule without a pending change needs no other links')
})

t.test(
  'a path is refused if neither of two neighbors listens, and if a client has too many links',
  async t => {
    const { deps, edge, rule, setEndpoint, list } = await linksFixture(t, {
      keys: { max_links_per_client: 1 }
    })
    const [entry, exit, other] = [await edge('entry'), await edge('exit'), await edge('other')]
    await setEndpoint(entry.id, {})
    const id = await rule(entry.id, [exit.id])
    const { store, ruleLinks, rules } = deps()
    const [stored] = await store.read(em => rules.matching({ id }, em))
    if (!stored) throw new TypeError('there is no rule')
    const change = (clientId: string, path: string[]) =>
      store.change(em =>
        ruleLinks.changed(
          [
            {
              ...stored,
              id: '01KCD3F0P7Q4Y6Z8V1T5S9R2NB',
              clientId,
              targets: [{ host: 'x', port: 1, priority: 1, path }],
              before: null
            }
          ],
          { isStored: false },
          em
        )
      )

    const noEndpoint = { code: 'link_no_endpoint', http: 422 }
    await t.rejects(change(exit.id, [other.id]), {
      errorCode: noEndpoint,
      details: { clients: [exit.id, other.id] },
      message: /listens for links/
    })
    await t.rejects(change(entry.id, [other.id]), {
      errorCode: { code: 'limit_reached' },
      details: { limit: 1, client_id: entry.id },
      message: /has 1 links already/
    })
    t.match(await list(), [{ rules: 1 }])
  }
)

t.test('the neighbors of a client get its new name, address and endpoint', async t => {
  const { call, edge, rule, setEndpoint } = await linksFixture(t)
  const [entry, exit] = [await edge('entry'), await edge('exit')]
  await setEndpoint(entry.id, { port: 7500 })
  await rule(entry.id, [exit.id])
  t.match((await exit.agent.until(LinkSet.name)).body, {
    link: { peer_name: 'entry', peer_port: 7500, peer_hosts: ['127.0.0.1'] }
  })

  await call('PATCH', `/v1/clients/${entry.id}`, { client_name: 'paris' })
  t.match((await exit.agent.until(LinkSet.name, 2)).body, { link: { peer_name: 'paris' } })
  await call('PUT', `/v1/clients/${entry.id}`, { address: 'paris.example' })
  t.match((await exit.agent.until(LinkSet.name, 3)).body, { link: { peer_hosts: ['paris.example'] } })
  await setEndpoint(entry.id, null)
  const { body } = await exit.agent.until(LinkSet.name, 4)
  t.match(body, { link: { peer_hosts: [] } })
  t.notOk('peer_port' in Object(body['link']))
})

t.test('a revoked client loses its links at once, and gets them back when it is enrolled again', async t => {
  const { app, call, edge, connect, rule, setEndpoint, list, round, reportKey } = await linksFixture(t)
  const [entry, exit] = [await edge('entry'), await edge('exit')]
  await setEndpoint(entry.id, {})
  await reportKey(exit.agent, { pin: pinOf('b') })
  await rule(entry.id, [exit.id])
  await entry.agent.until(LinkSet.name)

  await call('POST', `/v1/clients/${exit.id}/revoke`)

  t.match((await entry.agent.until(LinkRemove.name)).body, { removal: 'cut' })
  await round()
  t.match(await list(), [{ state: 'down', state_reason: 'peer_revoked' }])

  const { store, clients } = app.server.depsOf('clients') as never
  const { hashOf } = await import('../../../kernel/identity/secret.ts')
  await (store as { change(work: (em: never) => Promise<unknown>): Promise<unknown> }).change(em =>
    (clients as { replaceToken(id: string, hash: string, em: never): Promise<unknown> }).replaceToken(
      exit.id,
      hashOf('again'),
      em
    )
  )
  const again = await connect(exit.id, { token: 'again' })
  await reportKey(again, { pin: pinOf('b') })
  t.match((await entry.agent.until(LinkSet.name, 2)).body, { link: { peer_pins: [pinOf('b')] } })
  await again.until(LinkSet.name)
})
