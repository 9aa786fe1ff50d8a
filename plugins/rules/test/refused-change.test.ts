// A change that its agent refuses leaves the rule as it was, with the fields that only the server uses.
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import type { Reaction } from '../../../kit/scripted-agent.ts'
import { seededRandom } from '../../../test/bench/soak/seeded-random.ts'
import { RulePush } from '../wire.ts'
import { openRule, pool } from './every-field.ts'
import { rule, until } from './fixture.ts'

type Answer = Exclude<Reaction, Promise<unknown>>

const refusal: Answer = { refuse: 'denied_by_agent' }

t.test('the labels of a refused move do not stay', async t => {
  const { app, id, patch, answerNext } = await openRule(t)
  const before = await app.get(id)
  app.clock.advance(1000)
  answerNext({ refuse: 'port_in_use' })

  t.match(await patch({ listen_port: 9000, labels: { env: 'test', added: 'x' } }), { status: 409 })

  t.strictSame(await app.get(id), before)
})

t.test('a refused change of every field leaves the whole record as it was, with its ETag', async t => {
  const { app, id, patch, answerNext } = await openRule(t)
  const before = await app.get(id)
  app.clock.advance(1000)
  const every = Object.fromEntries(Object.entries(pool).map(([key, values]) => [key, values[1]]))

  answerNext(refusal)
  t.match(await patch(every), { status: 422 })
  t.strictSame(await app.get(id), before)

  const accepted = await patch(every)
  t.match(accepted, { status: 200, body: { labels: { env: 'prod', tier: 'web' }, proxy_out: 2 } })
  answerNext(refusal)
  const cleared = Object.fromEntries(Object.entries(pool).map(([key, values]) => [key, values[0]]))
  t.match(await patch(cleared), { status: 422 })
  t.strictSame(await app.get(id), accepted.body)
})

t.test(
  'labels that change while a refused change is pending stay, without those of the refused one',
  async t => {
    const { app, agent, id, patch, answerNext } = await openRule(t)
    const answer = Promise.withResolvers<Answer>()
    answerNext(answer.promise)
    const refused = patch({ targets: [{ host: '10.0.0.9', port: 9 }], labels: { env: 'test', added: 'x' } })
    await agent.until(RulePush.name, 2)
    app.clock.advance(1000)

    const accepted = await patch({ labels: { tier: null, team: 'net' } })
    answer.resolve(refusal)

    t.match(accepted, { status: 200, body: { labels: { env: 'test', added: 'x', team: 'net' } } })
    t.match(await refused, { status: 422 })
    t.match(await app.get(id), { targets: rule.targets, updated_at: accepted.body.updated_at })
    t.strictSame((await app.get(id))['labels'], { env: 'prod', team: 'net' })
  }
)

t.test('a change that is refused after a restart of the server leaves the rule as it was', async t => {
  const { app, agent, id, patch, answerNext, connect } = await openRule(t)
  const before = await app.get(id)
  answerNext('never')
  const lost = patch({ listen_port: 9000, labels: { env: 'test' }, at_end: 'cut' }).catch(() => null)
  await agent.until(RulePush.name, 2)
  await app.restart()
  await lost
  t.match(await app.get(id), { listen_port: 9000, labels: { env: 'test' } }, 'it is pending')

  answerNext(refusal)
  const again = await connect(1)
  await again.until(RulePush.name, 2)

  t.strictSame(
    await until(
      () => app.get(id),
      ({ listen_port }) => listen_port === 8080
    ),
    before
  )
})

t.test('a bulk change leaves each rule whose agent refuses it as it was', async t => {
  const { app, id, answerNext } = await openRule(t)
  const other = (await app.push({ listen_port: 8090, labels: { env: 'prod' } })).body.rule_id
  const before = await app.get(id)
  answerNext(refusal)

  const bulk = { ids: [id, other], action: 'patch', patch: { prefer_ipv6: true, labels: { env: 'test' } } }
  const { body } = await app.call<{ results: { status: number }[] }>('POST', '/v1/rules/bulk', bulk)

  t.match(body.results, [
    { rule_id: id, status: 422 },
    { rule_id: other, status: 200 }
  ])
  t.strictSame(await app.get(id), before)
  t.match(await app.get(other), { prefer_ipv6: true, labels: { env: 'test' } })
})

t.test('a rule has the accepted changes of a random history, and nothing of the refused ones', async t => {
  const { app, agent, id, patch, answerNext } = await openRule(t)
  const dice = seededRandom(20_261_128)
  const pushes = (): number => agent.received.filter(({ name }) => name === RulePush.name).length
  const counts = { accepted: 0, refused: 0, invalid: 0, beside: 0 }
  for (let round = 0; round < 120; round++) {
    const model = await app.get(id)
    const keys = Object.keys(pool).filter(() => dice.oneIn(4))
    const body = Object.fromEntries(keys.map(key => [key, dice.pick(pool[key] ?? [])]))
    if (keys.length === 0) continue
    const isRefused = dice.oneIn(2)
    const earlier = pushes()
    const answer = Promise.withResolvers<Answer>()
    answerNext(answer.promise)
    app.clock.advance(1000)
    const reply = patch(body)
    const isSent = await Promise.race([
      agent.until(RulePush.name, earlier + 1).then(() => true),
      reply.then(() => pushes() > earlier)
    ])
    const beside = isSent && dice.oneIn(2) ? await changeLabels() : null
    answer.resolve(isRefused ? refusal : 'accept')
    const { status } = await reply
    if (isSent) t.equal(status, isRefused ? 422 : 200, JSON.stringify(body))
    if (isSent && isRefused)
      await agent.until(RulePush.name, earlier + 2) // what is put back
    else answerNext('accept')
    const record = await app.get(id)
    counts[status === 200 ? 'accepted' : isSent ? 'refused' : 'invalid']++
    if (status === 200) continue
    const { labels, etag, updated_at, ...others } = model
    t.match(record, others, `round ${round}: ${JSON.stringify(body)}`)
    t.strictSame(record['labels'], beside ? merge(labels, beside.labels) : labels, `round ${round}`)
    if (!beside) t.match(record, { etag, updated_at })
  }
  t.comment(counts)
  t.ok(
    Object.values(counts).every(count => count > 5),
    'each outcome occurs'
  )

  /** Changes the labels while another change is pending. Null: they are so already. */
  async function changeLabels(): Promise<{ readonly labels: unknown } | null> {
    const labels = dice.pick(pool['labels'] ?? [])
    const present = (await app.get(id))['labels']
    if (isDeepStrictEqual(merge(present, labels), present)) return null
    t.match(await patch({ labels }), { status: 200 })
    counts.beside++
    return { labels }
  }
})

const merge = (stored: unknown, labels: unknown): unknown =>
  labels === null
    ? {}
    : Object.fromEntries(
        Object.entries({ ...(stored as object), ...(labels as object) }).filter(([, value]) => value !== null)
      )
