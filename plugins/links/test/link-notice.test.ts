// The kind `link_down` of notifications.
import t from 'tap'
import type { NotificationRow } from '../../notify/schema.ts'
import { linksFixture, plugins, status } from './fixture.ts'

t.test('link_down is raised when a link is down, but not while one of its clients is away', async t => {
  const { app, edge, rule, setEndpoint, list, round, report } = await linksFixture(t, {
    plugins: [...plugins, 'notify']
  })
  const [entry, exit] = [await edge('entry'), await edge('exit')]
  await setEndpoint(entry.id, {})
  await rule(entry.id, [exit.id])
  const [link] = await list()
  if (!link) throw new TypeError('there is no link')
  await round()
  const notices = async () => (await app.call<NotificationRow[]>('GET', '/v1/notifications')).body
  const advance = async (secs: number) => {
    for (let at = 0; at < secs; at += 10) await app.clock.advance(10_000)
  }

  await report(entry.agent, status(link.link_id))
  await advance(40)
  t.same(await notices(), [])
  await report(entry.agent, status(link.link_id, { state: 'down', reason: 'timeout' }))
  await advance(40)
  t.match(await notices(), [
    { kind: 'link_down', names: ['entry to exit (timeout)'], text: '1 link is down: entry to exit (timeout)' }
  ])

  await report(entry.agent, status(link.link_id))
  await advance(3_600)
  exit.agent.close()
  await round()
  t.match(await list(), [{ state: 'up' }], 'its near client still reports it')
  await report(entry.agent, status(link.link_id, { state: 'down', reason: 'unreachable' }))
  t.match(await list(), [{ state: 'down', state_reason: 'peer_away' }])
  await advance(300)
  t.same(
    (await notices()).map(({ kind }) => kind),
    ['edge_away', 'link_down'],
    'edge_away tells it, after its grace'
  )
})
