// Clients that are away and back, with real connections; and a storm of 1,000 clients.
import t from 'tap'
import { Client } from '../../../kernel/identity/entities.ts'
import type { ScriptedAgent } from '../../../kit/scripted-agent.ts'
import { NotifyObject } from '../entities.ts'
import { type NotifyFixture, notifyFixture } from './fixture.ts'

const second = 1_000
const minute = 60 * second
const hour = 60 * minute

/** Ends the connection of an agent. Resolves when the server knows. */
async function leave({ deps }: NotifyFixture, agent: ScriptedAgent): Promise<void> {
  const before = deps.control.peers.all().length
  await agent.close()
  while (deps.control.peers.all().length === before) await new Promise(resolve => setImmediate(resolve))
}

t.test('a client that is away for its grace is reported, and so is its return', async t => {
  const app = await notifyFixture(t, { section: { grace_secs: 60 } })
  const id = await app.enroll('paris')
  const agent = await app.connect(id)
  await app.clock.advance(10 * second)
  await leave(app, agent)
  await app.clock.advance(50 * second)
  t.same(await app.notifications(), [], 'not yet')
  await app.clock.advance(30 * second)
  t.match(await app.notifications(), [{ kind: 'edge_away', count: 1, text: '1 client is away: paris' }])

  await app.connect(id)
  await app.clock.advance(10 * second)
  t.match(await app.notifications(), [
    { kind: 'edge_back', text: '1 client is back: paris' },
    { kind: 'edge_away' }
  ])
})

t.test(
  'a shorter grace counts for clients that wait already, and reports nobody before it has passed',
  async t => {
    const app = await notifyFixture(t, { section: { grace_secs: 86_400 } })
    const agent = await app.connect(await app.enroll('paris'))
    await app.clock.advance(70 * second)
    await agent.close()
    await app.clock.advance(60 * second)
    await app.stop()
    const again = await notifyFixture(t, { section: { grace_secs: 300 }, dir: app.dir, clock: app.clock })
    await again.clock.advance(200 * second)
    t.same(await again.notifications(), [])
    await again.clock.advance(120 * second)
    t.match(await again.notifications(), [{ kind: 'edge_away', names: ['paris'] }])
  }
)

t.test('a client that returns within its grace is not reported, and neither is its return', async t => {
  const app = await notifyFixture(t, { section: { grace_secs: 60 } })
  const id = await app.enroll('paris')
  for (let times = 0; times < 4; times++) {
    const agent = await app.connect(id)
    await app.clock.advance(10 * second)
    await leave(app, agent)
    await app.clock.advance(40 * second)
  }
  await app.connect(id)
  await app.clock.advance(40 * second)
  t.same(await app.notifications(), [])
})

t.test(
  'clients have a minute to return to a server that has started, and are then reported once',
  async t => {
    const app = await notifyFixture(t, { section: { grace_secs: 0 } })
    const id = await app.enroll('paris')
    const agent = await app.connect(id)
    await app.clock.advance(10 * second)
    await leave(app, agent)
    await app.stop()
    const again = await notifyFixture(t, { section: { grace_secs: 0 }, dir: app.dir, clock: app.clock })
    await again.clock.advance(50 * second)
    t.same(await again.notifications(), [])
    await again.clock.advance(20 * second)
    t.match(await again.notifications(), [{ kind: 'edge_away' }])
    await again.stop()

    const third = await notifyFixture(t, { section: { grace_secs: 0 }, dir: app.dir, clock: app.clock })
    await third.clock.advance(3 * hour)
    t.equal((await third.notifications()).length, 1, 'a restart repeats nothing')
  }
)

t.test(
  'revoked clients and those that never connected are not away, and a deleted one is forgotten',
  async t => {
    const app = await notifyFixture(t, { section: { grace_secs: 60 } })
    const gone = await app.enroll('gone')
    const agent = await app.connect(gone)
    const revoked = await app.enroll('revoked')
    const other = await app.connect(revoked)
    await app.enroll('never')
    await app.clock.advance(10 * second)
    await leave(app, agent)
    await app.clock.advance(20 * second)
    await app.call('DELETE', `/v1/clients/${revoked}`)
    await other.closed
    await app.change(em => em.nativeUpdate(Client, { id: revoked }, { revokedAt: 1 }))
    await app.change(em => em.nativeDelete(Client, { id: gone }))
    await app.clock.advance(5 * minute)
    t.same(await app.notifications(), [])
  }
)

t.test('a client that is revoked while it is away within its grace is not reported', async t => {
  const app = await notifyFixture(t, { section: { grace_secs: 60 } })
  const id = await app.enroll('paris')
  const agent = await app.connect(id)
  await app.clock.advance(10 * second)
  await leave(app, agent)
  await app.clock.advance(20 * second)
  t.equal(await app.change(em => em.count(NotifyObject, { state: 'away' })), 1, 'the server knows')

  t.equal((await app.call('POST', `/v1/clients/${id}/revoke`)).status, 204)
  await app.clock.advance(5 * minute)

  t.same(await app.notifications(), [])
  t.equal(await app.change(em => em.count(NotifyObject, { subject: 'edge' })), 0)
})
