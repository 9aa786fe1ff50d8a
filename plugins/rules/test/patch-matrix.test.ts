// Every property of a rule, in every state of the rule, accepted and refused by its agent. Labels, which only the server
// uses, change with each of them.
import t, { type Test } from 'tap'
import { Inventory } from '../../../kernel/wire/control.ts'
import type { Reaction } from '../../../kit/scripted-agent.ts'
import type { RuleRecord } from '../api/rule-record.ts'
import { RulePush } from '../wire.ts'
import { until } from './fixture.ts'
import { editable, patchFixture, plugins } from './patch-fixture.ts'

const changes: Readonly<Record<string, unknown>> = {
  targets: [{ host: '10.0.0.2', port: 81, priority: 0 }],
  prefer_ipv6: true,
  listen_port: 19_000,
  listen_port_end: 18_002,
  rate_limit: { concurrent_connections: 5 },
  health_check_interval_secs: 30,
  sni_pattern: 'a.example.org',
  sni_fallback: true,
  paused: true
}

const states = ['active', 'pending', 'failed', 'offline', 'paused'] as const
type State = (typeof states)[number]

for (const state of states)
  for (const outcome of ['accepted', 'refused'] as const)
    for (const [key, value] of Object.entries(changes))
      t.test(`${key} of a rule that is ${state}, ${outcome}`, async t => {
        const on = await ruleIn(t, state)
        const { app, id } = on
        const body = {
          [key]: state === 'paused' && key === 'paused' ? false : value,
          labels: { env: 'prod' }
        }
        const before = await app.get(id)
        on.answerWith(outcome === 'accepted' ? 'accept' : { refuse: 'denied_by_agent' })

        const reply = await app.call<RuleRecord>('PATCH', `/v1/rules/${id}`, body)
        await on.settle()

        const record = await app.get(id)
        const isKept = outcome === 'accepted'
        t.strictSame(pick(record), { ...pick(before), ...(isKept && body) })
        t.match(reply.status, outcome === 'accepted' || state === 'offline' ? 200 : 422)
        t.equal(record.state, expectedState(state, outcome, record.paused))
        t.equal(record.etag !== before.etag, isKept)
        t.match(await app.push({ listen_port: record.listen_port }), {
          status: 409,
          body: { error: { details: { rule_id: id } } }
        })
        if (record.listen_port !== before.listen_port)
          t.match(await app.push({ listen_port: before.listen_port, if_offline: 'queue' }), { status: 201 })
      })

function expectedState(state: State, outcome: 'accepted' | 'refused', isPaused: boolean): string {
  if (outcome === 'refused' && (state === 'pending' || state === 'failed')) return 'failed'
  return isPaused ? 'paused' : 'active'
}

const pick = (record: RuleRecord): object =>
  Object.fromEntries(
    [...Object.keys(changes), 'labels'].map(key => [
      key,
      key === 'targets'
        ? record.targets.map(({ host, port, priority }) => ({ host, port, priority }))
        : record[key]
    ])
  )

/** Creates a rule in a state. `settle` waits until its agent has answered every message. */
async function ruleIn(t: Test, state: State) {
  let reaction: Reaction = 'accept'
  const react = (): Reaction => {
    const next = reaction
    if (typeof next === 'object' && 'refuse' in next) reaction = 'accept' // what is put back
    return next
  }
  const on = await patchFixture(t, null, { react }, { plugins: [...plugins, 'labels'] })
  const { app, clientId } = on
  let { agent } = on
  const made = { listen_port: 18_000, paused: state === 'paused' }
  if (state === 'failed') reaction = { refuse: 'port_in_use' }
  if (state === 'pending') {
    await agent.until(Inventory.name) // what the comparison sends must be answered before anything else is sent
    reaction = 'never'
  }
  const created = app.push(made)
  if (state === 'pending') await agent.until(RulePush.name)
  else await created
  const [{ rule_id: id }] = (await app.call<[{ rule_id: string }]>('GET', '/v1/rules')).body
  if (state === 'offline') {
    await agent.close()
    await until(async () => app.log.some(({ event }) => event === 'client.disconnected'), Boolean)
  }
  return {
    app,
    id,
    answerWith(next: Reaction): void {
      reaction = next
    },
    async settle() {
      if (state === 'pending') await created
      if (state === 'offline')
        agent = await app.connect(clientId, {
          ...editable,
          react,
          inventory: [{ kind: 'rule', id, revision: 1, state: 'applied' }]
        })
      const { rules, store } = app.server.depsOf('rules') as never as {
        rules: {
          matching(where: object, em: unknown): Promise<{ existing?: string | null; state: string }[]>
        }
        store: { read<T>(work: (em: unknown) => Promise<T>): Promise<T> }
      }
      await until(
        () => store.read(em => rules.matching({ id }, em)),
        ([rule]) => rule?.existing == null && rule?.state !== 'pending'
      )
    }
  }
}
