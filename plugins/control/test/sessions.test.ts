// Hello and sessions: agents are accepted, replaced and disconnected, and the log shows it.
import t from 'tap'
import type { InstanceConflict } from '../../../kernel/control/peers.ts'
import { Client, SpentToken } from '../../../kernel/identity/entities.ts'
import { hashOf } from '../../../kernel/identity/secret.ts'
import { Hello } from '../../../kernel/wire/control.ts'
import { Stream } from '../../../kernel/wire/stream.ts'
import { fakeClock } from '../../../kit/fake-clock.ts'
import { dial } from '../../../kit/scripted-agent.ts'
import { recordLog } from '../../../kit/test-server.ts'
import { Echo } from '../../../test/support/echo.ts'
import { type ControlFixture, codec, controlFixture, echo, Put } from './fixture.ts'

const tick = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await tick()
}

t.test('a token that no client has is unknown; a replaced one is revoked', async t => {
  const { connectAgent, enroll, store, control } = await controlFixture(t)
  const spent = await enroll()
  const revoked = await enroll()
  await store.change(async em => {
    await em.insert(SpentToken, { hash: hashOf('spent'), clientId: spent.clientId, spentAt: 0 })
    await em.nativeUpdate(Client, { id: revoked.clientId }, { revokedAt: 1 })
  })

  await t.rejects(connectAgent('never seen'), { code: 'token_unknown' })
  await t.rejects(connectAgent('spent'), { code: 'token_revoked' })
  await t.rejects(connectAgent(revoked.token), { code: 'token_revoked' })
  t.same(control.peers.all(), [])
})

t.test(
  'an agent with another protocol version is refused with a reason, and logged once a minute',
  async t => {
    const { control, enroll, events, clock: serverClock } = await controlFixture(t)
    const { token } = await enroll()
    const clock = { ...fakeClock(), after: () => () => {}, every: () => () => {} }
    const hello = { token, agent_version: '9.0.0', protocol_version: 2, instance_id: '', state_digest: '' }
    async function refused(): Promise<void> {
      const { socket } = await dial({ port: control.port(), fingerprint: control.fingerprint })
      t.teardown(() => socket.destroy())
      const { channel } = new Stream({ socket, codec, handlers: [], clock, log: recordLog([]) })
      await t.rejects(channel.request(Hello, hello), { code: 'wire.protocol_version', message: /version 1/ })
    }
    const warnings = () => events('control.protocol_version')

    await refused()
    await refused()
    t.match(warnings(), [
      { level: 'warn', fields: { agent_version: '9.0.0', protocol_version: 2, remote_addr: '127.0.0.1' } }
    ])
    t.equal(warnings().length, 1)

    await serverClock.advance(60_000)
    await refused()
    t.equal(warnings().length, 2)
  }
)

t.test('version and capabilities of Hello are saved, and so is the time when the stream ends', async t => {
  const { connectAgent, enroll, store, control, clock, events } = await controlFixture(t)
  const { token, clientId } = await enroll('berlin')
  const client = () => store.read(em => em.findOneOrFail(Client, { id: clientId }))

  const agent = await connectAgent(token, { version: '1.2.3', capabilities: { udp: '1.0.0' } })
  const peer = control.peers.find(clientId)!

  t.match(await client(), {
    agentVersion: '1.2.3',
    capabilities: { udp: '1.0.0' },
    connectedAt: clock.now(),
    lastSeenAt: clock.now()
  })
  t.match(agent.welcome, { server_version: '2.0.0', server_time_ms: clock.now(), kinds: ['thing'] })
  t.equal(agent.welcome.session_id, peer.sessionId)
  t.equal(peer.connectedAt, (await client()).connectedAt)
  t.ok(peer.can({ id: 'udp', since: '1.0.0' }))
  t.notOk(peer.can({ id: 'sni', since: '0.1.0' }))
  t.match(events('client.connected'), [
    {
      level: 'info',
      fields: {
        client_id: clientId,
        client_name: 'berlin',
        agent_version: '1.2.3',
        remote_addr: '127.0.0.1'
      }
    }
  ])

  await clock.advance(5_000)
  await agent.close()
  await until(() => events('client.disconnected').length === 1)
  t.match(events('client.disconnected'), [{ fields: { client_id: clientId, reason: 'closed' } }])
  t.equal(control.peers.find(clientId), undefined)
  while ((await client()).lastSeenAt !== clock.now()) await tick() // it is written after that
})

t.test('the version of an agent that sends no capabilities decides what it can do', async t => {
  const { connectAgent, enroll, store, control } = await controlFixture(t)
  const { token, clientId } = await enroll()

  await connectAgent(token, { version: '0.9.0', capabilities: null })
  const peer = control.peers.find(clientId)!

  t.ok(peer.can({ id: 'sni', since: '0.9.0' }))
  t.notOk(peer.can({ id: 'rate', since: '0.11.0' }))
  t.equal((await store.read(em => em.findOneOrFail(Client, { id: clientId }))).capabilities ?? null, null)
})

t.test(
  'before Hello only pre-authentication messages are handled, and Hello may follow on the same stream',
  async t => {
    const { connectAgent, enroll, control } = await controlFixture(t, { preAuthHandlers: echo })
    const { token } = await enroll()
    const { socket } = await dial({ port: control.port(), fingerprint: control.fingerprint })
    const clock = { ...fakeClock(), after: () => () => {}, every: () => () => {} }
    const { channel } = new Stream({ socket, codec, handlers: [], clock, log: recordLog([]) })
    t.teardown(() => socket.destroy())

    t.same(await channel.request(Echo, { text: 'redeem' }), { text: 'redeem' })
    await t.rejects(channel.request(Put, { id: '', revision: 1, text: '' }), { code: 'wire.unknown_message' })
    const hello = { token, agent_version: '', protocol_version: 1, instance_id: '', state_digest: '' }
    t.match(await channel.request(Hello, hello), { server_version: '2.0.0' })

    const joined = await connectAgent((await enroll()).token)
    await t.rejects(joined.channel.request(Echo, { text: 'redeem' }), { code: 'wire.unknown_message' })
  }
)

t.test('frames are small before Hello, and may be large after it', async t => {
  const { connectAgent, enroll, control } = await controlFixture(t, { preAuthHandlers: echo, handlers: echo })
  const { socket } = await dial({ port: control.port(), fingerprint: control.fingerprint })
  const clock = { ...fakeClock(), after: () => () => {}, every: () => () => {} }
  const { channel } = new Stream({ socket, codec, handlers: [], clock, log: recordLog([]) })

  const agent = await connectAgent((await enroll()).token)

  t.match(await agent.channel.request(Echo, { text: 'x'.repeat(200_000) }), { text: /^x{100}/ })
  await t.rejects(channel.request(Echo, { text: 'x'.repeat(5_000) }), { code: 'wire.closed' })
})

t.test('Welcome has the parts of plugins, and their hooks are called at join and end', async t => {
  const calls: string[] = []
  const { connectAgent, enroll } = await controlFixture(t, {
    connection: {
      welcome: async ({ clientId }) => ({ thing: Buffer.from(clientId) }),
      joined: peer => void calls.push(`joined ${peer.sessionId}`),
      left: (peer, reason) => void calls.push(`left ${peer.sessionId} ${reason}`)
    }
  })
  const { token, clientId } = await enroll()

  const agent = await connectAgent(token)
  t.equal(Buffer.from(agent.welcome.parts['thing']!).toString(), clientId)
  await agent.close()
  await until(() => calls.length === 2)

  const { session_id: session } = agent.welcome
  t.same(calls, [`joined ${session}`, `left ${session} closed`])
})

t.test('the newer session of a client replaces the older', async t => {
  const { connectAgent, enroll, control, events } = await controlFixture(t)
  const { token, clientId } = await enroll()
  const older = await connectAgent(token, { instanceId: 'one' })

  const newer = await connectAgent(token, { instanceId: 'two' })
  await older.closed()

  t.equal(older.endCode(), 'replaced')
  t.equal(control.peers.find(clientId)?.sessionId, newer.welcome.session_id)
  t.match(events('client.disconnected'), [{ fields: { client_id: clientId, reason: 'replaced' } }])
  t.equal(control.peers.all().length, 1)
})

/** Lets two agents with one bundle compete until the server sees it. Returns the one with the session, and the end codes. */
async function compete({
  connectAgent,
  token
}: {
  connectAgent: ControlFixture['connectAgent']
  token: string
}) {
  const ends: (string | null)[] = []
  let current = await connectAgent(token, { instanceId: '0' })
  for (let i = 1; i <= 6; i++) {
    const next = await connectAgent(token, { instanceId: String(i % 2) })
    await current.closed()
    ends.push(current.endCode())
    current = next
  }
  return { holder: current, ends }
}

t.test('two agents with one bundle do not take the session from each other endlessly', async t => {
  const conflicts: InstanceConflict[] = []
  const { connectAgent, enroll, events, clock, control } = await controlFixture(t, {
    connection: { contested: async conflict => void conflicts.push(conflict) }
  })
  const { token, clientId } = await enroll()

  const { holder, ends } = await compete({ connectAgent, token })

  t.same(ends, [...Array(5).fill('replaced'), 'instance_conflict'])
  for (let i = 0; i < 20; i++)
    await t.rejects(connectAgent(token, { instanceId: '1' }), { code: 'instance_conflict' })
  t.equal(control.peers.find(clientId)?.sessionId, holder.welcome.session_id)
  t.match(events('client.instance_conflict'), [{ level: 'warn', fields: { client_id: clientId } }])
  t.equal(events('client.instance_conflict').length, 1, 'logged once a minute')
  t.match(conflicts, [{ clientId, remoteAddrs: ['127.0.0.1', '127.0.0.1'] }])

  await clock.advance(60_001) // no heartbeats: the session has timed out
  const returned = await connectAgent(token, { instanceId: '0' })
  await connectAgent(token, { instanceId: '1' })
  await returned.closed()
  t.equal(returned.endCode(), 'replaced')
})

t.test('an agent that restarts during a conflict joins at once', async t => {
  const { connectAgent, enroll, control } = await controlFixture(t)
  const { token, clientId } = await enroll()
  const { holder } = await compete({ connectAgent, token })
  await holder.close()
  await until(() => control.peers.find(clientId) === undefined)

  const restarted = await connectAgent(token, { instanceId: 'restarted' })

  t.equal(control.peers.find(clientId)?.sessionId, restarted.welcome.session_id)
})

t.test('one agent that reconnects repeatedly is not a session conflict', async t => {
  const { connectAgent, enroll, events } = await controlFixture(t)
  const { token } = await enroll()

  for (let i = 0; i < 8; i++) await connectAgent(token, { instanceId: 'same' })

  t.same(events('client.instance_conflict'), [])
})

t.test('a revoked agent is asked for a last report, gets the reason, and is disconnected', async t => {
  const reported: unknown[] = []
  const { connectAgent, enroll, control, events } = await controlFixture(t, {
    connection: {
      leaving: async (peer, reason) =>
        void reported.push(reason, await peer.request(Put, { id: 'last', revision: 1, text: '' }))
    }
  })
  const { token, clientId } = await enroll()
  const agent = await connectAgent(token)

  control.peers.find(clientId)!.end('token_revoked')
  t.equal(control.peers.find(clientId), undefined)
  await agent.closed()

  t.same(reported, ['token_revoked', { revision: 1 }])
  t.equal(agent.endCode(), 'token_revoked')
  t.match(events('client.disconnected'), [{ fields: { reason: 'token_revoked' } }])
})

t.test('a last report is awaited for at most 1 s', async t => {
  const { connectAgent, enroll, control, clock } = await controlFixture(t, {
    connection: { leaving: () => new Promise(() => {}) }
  })
  const { token, clientId } = await enroll()
  const agent = await connectAgent(token)

  control.peers.find(clientId)!.end('token_revoked')
  await clock.advance(999)
  t.equal(agent.endCode(), null)
  await clock.advance(1)

  await agent.closed()
  t.equal(agent.endCode(), 'token_revoked')
})

t.test('a token that is revoked while its stream joins ends the session', async t => {
  const { connectAgent, enroll, store, control } = await controlFixture(t, {
    connection: {
      async welcome({ clientId }) {
        await store.change(em => em.nativeUpdate(Client, { id: clientId }, { tokenHash: null, revokedAt: 1 }))
        return {}
      }
    }
  })
  const { token } = await enroll()

  const agent = await connectAgent(token)
  await agent.closed()

  t.equal(agent.endCode(), 'token_revoked')
  t.same(control.peers.all(), [])
})

t.test('a server that stops sends its agents the reason', async t => {
  const { connectAgent, enroll, control } = await controlFixture(t)
  const agent = await connectAgent((await enroll()).token)

  await control.close()

  await agent.closed()
  t.equal(agent.endCode(), 'shutting_down')
  t.match(
    agent.received.at(-1)?.body,
    { retry_within_ms: 1_000 },
    'and within which time they may come again'
  )
})

t.test('the generation of a store is made once', async t => {
  const { connectAgent, enroll } = await controlFixture(t)
  const { token } = await enroll()

  const { generation } = (await connectAgent(token)).welcome

  t.match(generation, /^[0-9a-f]{32}$/)
  t.equal((await connectAgent(token)).welcome.generation, generation)
})

t.test('the last-seen time of connected agents is updated', async t => {
  const { connectAgent, enroll, clock, store } = await controlFixture(t)
  const { token, clientId } = await enroll()
  const agent = await connectAgent(token, { clock })

  for (let second = 0; second < 60; second++) {
    await clock.advance(1_000)
    await tick()
  }

  t.notOk(agent.ended.aborted)
  await store.change(async () => {})

  t.equal((await store.read(em => em.findOneOrFail(Client, { id: clientId }))).lastSeenAt, clock.now())
})
