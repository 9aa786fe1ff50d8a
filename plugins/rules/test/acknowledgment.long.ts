// A change is acknowledged by the result of exactly its revision: 2,000 changes of rules, accepted and refused, answered late.
// Also: node test/postgres/run.ts plugins/rules/test/acknowledgment.long.ts
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import type { Reaction, ReceivedMessage } from '../../../kit/scripted-agent.ts'
import { isOnPostgres } from '../../../kit/test-store.ts'
import { seededRandom } from '../../../test/bench/soak/seeded-random.ts'
import type { RuleRecord } from '../api/rule-record.ts'
import { RulePush } from '../wire.ts'
import { type ErrorReply, rulesFixture, until } from './fixture.ts'
import { editable, plugins } from './patch-fixture.ts'

const changes = 2000
const rules = 8 // changed at the same time
const maxTurns = 40 // of the event loop, until the agent answers

type Answer = Exclude<Reaction, Promise<unknown>>
type Reply = { readonly status: number; readonly body: RuleRecord & ErrorReply }

const portOf = (body: unknown): number =>
  (body as { targets: readonly { port: number }[] }).targets[0]?.port ?? 0

t.test(
  'no change is acknowledged that is not in force, and none that is in force is refused',
  { timeout: 900_000 },
  async t => {
    const dice = seededRandom(20_261_127)
    const refused = new Set<number>() // ports of targets that the agent refuses
    const inForce = new Map<string, number>() // by rule: what the agent has applied
    const app = await rulesFixture(t, { plugins })
    const react = async (request: ReceivedMessage): Promise<Answer> => {
      if (request.name !== RulePush.name) return 'accept'
      for (let turn = dice.below(maxTurns); turn > 0; turn--) await nextTurn()
      const port = portOf(request.body)
      if (refused.has(port)) return { refuse: 'denied_by_agent' }
      inForce.set(String(request.body['rule_id']), port)
      return 'accept'
    }
    const counts = { accepted: 0, refused: 0, overtaken: 0, false: 0 }
    let next = 1000

    /** Sends one change to a target port that no other change has. */
    function change(id: string) {
      const port = next++
      const isRefused = dice.oneIn(2)
      if (isRefused) refused.add(port)
      const body = { targets: [{ host: '10.0.0.1', port }] }
      const reply: Promise<Reply> = app.call('PATCH', `/v1/rules/${id}?ack_timeout_secs=60`, body)
      return { port, isRefused, reply }
    }

    function count({ status }: Reply, isTrue: boolean, what: object): void {
      counts[status === 200 ? 'accepted' : 'refused']++
      if (isTrue) return
      counts.false++
      t.comment({ status, ...what })
    }

    /** An answer must be that of the agent, and an acknowledged change in force when the answer is here. */
    async function changeOnce(id: string): Promise<void> {
      const { port, isRefused, reply } = change(id)
      const answer = await reply
      const isApplied = inForce.get(id) === port
      const isTrue = isRefused
        ? answer.status === 422 && !isApplied
        : answer.status === 200 && isApplied && portOf(answer.body) === port
      count(answer, isTrue, { port, isRefused, inForce: inForce.get(id) })
    }

    /** One change may overtake the other: both are then answered with the result of the one that was stored last. */
    async function changeTwice(id: string): Promise<void> {
      const before = portOf(await app.get(id))
      const first = change(id)
      for (let turn = dice.below(maxTurns); turn > 0; turn--) await nextTurn()
      const second = change(id)
      const [one, two] = await Promise.all([first.reply, second.reply])
      const record = portOf(await app.get(id))
      const isOneTrue = one.status === (first.isRefused ? 422 : 200) || one.status === two.status
      const isTwoTrue = two.status === (second.isRefused ? 422 : 200) || one.status === two.status
      const wanted = two.status === 200 ? [second.port] : one.status === 200 ? [first.port] : [before]
      if (one.status === 200 && two.status === 200) wanted.push(first.port) // it may be stored after the second
      counts.overtaken += 2
      count(one, isOneTrue, { first: first.isRefused, second: second.isRefused, two: two.status })
      count(two, isTwoTrue && wanted.includes(record), {
        record,
        wanted,
        first: first.isRefused,
        one: one.status
      })
    }

    async function changeRule(id: string): Promise<void> {
      for (let made = 0; made < changes / rules; )
        if (made + 2 <= changes / rules && dice.oneIn(4)) {
          await changeTwice(id)
          made += 2
        } else {
          await changeOnce(id)
          made += 1
        }
    }

    const ids: string[] = []
    for (let at = 0; at < rules; at++) {
      const client = `edge-${at}` // one agent with all rules would use more than its share of the server
      await app.connect(await app.enroll(client), { ...editable, react })
      const made = { client, targets: [{ host: '10.0.0.1', port: 1 + at }] }
      ids.push((await app.push(made)).body.rule_id)
    }
    const begunAt = performance.now()
    let advancedTo = begunAt
    // The budget of an agent's messages refills by the clock of the server, which must run.
    const ticking = setInterval(() => {
      const now = performance.now()
      app.clock.advance(Math.floor(now - advancedTo))
      advancedTo += Math.floor(now - advancedTo)
    }, 50)
    t.teardown(() => clearInterval(ticking))
    await Promise.all(ids.map(changeRule))
    const secs = (performance.now() - begunAt) / 1000

    t.comment({ ...counts, secs: Math.round(secs), store: isOnPostgres ? 'PostgreSQL' : 'SQLite' })
    t.equal(counts.false, 0)
    t.equal(counts.accepted + counts.refused, changes)
    // The agent may still have to take back a change that was refused last.
    for (const id of ids)
      await until(
        async () => portOf(await app.get(id)),
        port => port === inForce.get(id)
      )
  }
)
