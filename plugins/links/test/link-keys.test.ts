// Link keys: agents report them, neighbors get them, and agents rotate them.
import t from 'tap'
import { KeyReport, KeyRotate, KeySwitch, LinkSet } from '../wire.ts'
import { linksFixture, linksOf, pinOf } from './fixture.ts'

t.test(
  'a client switches to its next key when its neighbors know it, and they forget the old one',
  async t => {
    const { app, call, edge, rule, setEndpoint, reportKey } = await linksFixture(t)
    const answers = { held: Promise.withResolvers<'accept'>() }
    let sets = 0
    const exit = await edge('exit', {
      react: ({ name }) => (name === LinkSet.name && ++sets === 2 ? answers.held.promise : 'accept')
    })
    const entry = await edge('entry')
    await setEndpoint(entry.id, {})
    t.same(await reportKey(entry.agent, { pin: pinOf('a') }), { neighbors_know_next: false, key_days: 90 })
    await rule(entry.id, [exit.id])
    await exit.agent.until(LinkSet.name)

    const rotation = await call('POST', `/v1/clients/${entry.id}/link-key/rotate`)
    t.equal(rotation.status, 204)
    t.match(app.decisions.at(-1), { action: 'link.rotate-key' })
    await entry.agent.until(KeyRotate.name)
    const early = await reportKey(entry.agent, { pin: pinOf('a'), next_pin: pinOf('b') })
    t.equal(early.neighbors_know_next, false)
    await exit.agent.until(LinkSet.name, 2)
    t.same(linksOf(exit.agent).at(-1)?.peer_pins, [pinOf('a'), pinOf('b')])
    answers.held.resolve('accept')
    t.same((await entry.agent.until(KeySwitch.name)).body, { next_pin: pinOf('b') })

    await reportKey(entry.agent, { pin: pinOf('b') })
    await exit.agent.until(LinkSet.name, 3)
    t.same(linksOf(exit.agent).at(-1)?.peer_pins, [pinOf('b')])
    t.match(
      app.log.filter(({ event }) => event === 'link.key_rotated'),
      [{ fields: { client: entry.id, fingerprint: pinOf('b') } }] as object
    )
  }
)

t.test(
  'a client without connected neighbors may switch at once, and a repeated report changes nothing',
  async t => {
    const { edge, reportKey } = await linksFixture(t)
    const { agent } = await edge('paris')
    await reportKey(agent, { pin: pinOf('a') })
    const report = { pin: pinOf('a'), next_pin: pinOf('b') }
    t.match(await reportKey(agent, report), { neighbors_know_next: true })
    t.match(await reportKey(agent, report), { neighbors_know_next: true })
  }
)

t.test('an agent cannot report the key of another client', async t => {
  const { edge, reportKey } = await linksFixture(t)
  const [paris, lyon] = [await edge('paris'), await edge('lyon')]
  await reportKey(paris.agent, { pin: pinOf('a'), next_pin: pinOf('b') })

  for (const body of [{ pin: pinOf('a') }, { pin: pinOf('b') }, { pin: pinOf('c'), next_pin: pinOf('a') }])
    await t.rejects(reportKey(lyon.agent, body), { code: 'link_pin_taken' })
  await t.rejects(reportKey(lyon.agent, { pin: pinOf('c'), next_pin: pinOf('c') }), {
    code: 'link_key_invalid'
  })
  await t.rejects(lyon.agent.channel.request(KeyReport, { pin: 'x' } as never))
  t.match(await reportKey(lyon.agent, { pin: pinOf('c') }), { neighbors_know_next: false })
})

t.test('the key of an offline client cannot be rotated', async t => {
  const { call, edge } = await linksFixture(t)
  const { id, agent } = await edge('paris')
  await agent.close()
  t.match(await call('POST', `/v1/clients/${id}/link-key/rotate`), {
    status: 422,
    body: { error: { code: 'client_not_connected', details: { client_id: id } } }
  } as object)
  t.match(await call('POST', '/v1/clients/nobody/link-key/rotate'), { status: 404 })
})
