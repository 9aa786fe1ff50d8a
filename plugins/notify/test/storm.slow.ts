// A storm of 1,000 clients, as the plugin sees it: the store is real, the connections are not.
import t from 'tap'
import { Client } from '../../../kernel/identity/entities.ts'
import { NotifyMessage, NotifyObject } from '../entities.ts'
import { openEdges } from '../kinds/edges.ts'
import { notifyFixture } from './fixture.ts'

const second = 1_000
const hour = 3_600 * second

t.test('1,000 clients that come and go for an hour cause at most 120 messages', async t => {
  const app = await notifyFixture(t)
  const { deps, clock, change } = app
  const ids = Array.from({ length: 1_000 }, (_, i) => `01${String(i).padStart(24, '0')}`)
  for (let from = 0; from < ids.length; from += 250)
    await change(em =>
      em.insertMany(
        Client,
        ids.slice(from, from + 250).map((id, i) => ({
          id,
          name: `edge-${from + i}`,
          tokenHash: id,
          revision: 0,
          enrolledAt: 1,
          connectedAt: 1
        }))
      )
    )
  const connected = new Set(ids)
  const control = {
    peers: { all: () => [...connected].map(clientId => ({ clientId })) }
  }
  const edges = openEdges({ ...deps, config: { ...deps.config, grace_secs: 60 }, control: control as never })
  let seed = 7
  const random = (): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
    return seed / 2 ** 31
  }
  await edges.look()
  for (let at = 0; at < hour; at += 10 * second) {
    for (const id of ids) if (random() < 0.03) connected[connected.has(id) ? 'delete' : 'add'](id)
    await edges.look()
    await change(em => deps.objects.reportDue(edges, em))
    await clock.advance(10 * second)
  }
  const messages = await deps.store.read(em => em.find(NotifyMessage, {}))
  t.comment(`${messages.length} messages`)
  t.ok(messages.length <= 120, `${messages.length} messages`)
  t.ok(messages.length > 10, 'the storm was reported')
  const away = await deps.store.read(em => em.count(NotifyObject, { subject: 'edge' }))
  t.equal(away, 1_000)
})
