// A change is acknowledged by the agent's answer to its own revision, whatever else the agent answers meanwhile.
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import type { Reaction, ReceivedMessage } from '../../../kit/scripted-agent.ts'
import { type SeededRandom, seededRandom } from '../../../test/bench/soak/seeded-random.ts'
import { RulePush, ruleKind } from '../wire.ts'
import { patchFixture } from './patch-fixture.ts'

const takenPort = 9999
const rules = 4
const changes = 40 // of each rule

/** Answers each push after some turns, and repeats results of earlier revisions. */
function hesitantAgent(dice: SeededRandom) {
  const sent: { readonly id: string; readonly revision: number; readonly isTaken: boolean }[] = []
  let repeat = (_: { kind: string; id: string; revision: number; code?: string }): void => {}

  async function answer({ body }: ReceivedMessage) {
    const isTaken = body['listen_from'] === takenPort
    sent.push({ id: String(body['rule_id']), revision: Number(body['revision']), isTaken })
    for (let turns = dice.below(6); turns > 0; turns--) await nextTurn()
    const earlier = dice.pick(sent)
    if (earlier && dice.oneIn(2))
      repeat({
        kind: ruleKind,
        id: earlier.id,
        revision: earlier.revision,
        ...(earlier.isTaken && { code: 'port_in_use' })
      })
    for (let turns = dice.below(6); turns > 0; turns--) await nextTurn()
    return isTaken ? ({ refuse: 'port_in_use' } as const) : 'accept'
  }

  return {
    react: (message: ReceivedMessage): Reaction =>
      message.name === RulePush.name ? answer(message) : 'accept',
    repeatWith(send: typeof repeat): void {
      repeat = send
    }
  }
}

for (const seed of [1, 2])
  t.test(`no refused change is acknowledged among ${rules * changes} (seed ${seed})`, async t => {
    const dice = seededRandom(seed)
    const { react, repeatWith } = hesitantAgent(dice)
    const { app, agent } = await patchFixture(t, null, { react })
    repeatWith(agent.sendStatus)
    const wrong: string[] = []

    async function changeRule(first: number): Promise<void> {
      const { rule_id } = (await app.push({ listen_port: first })).body
      for (let change = 0; change < changes; change++) {
        const port = dice.oneIn(3) ? first + dice.below(100) : takenPort
        const targets = [{ host: '10.0.0.9', port: 1 + change }]
        const { status, body } = await app.call<{ listen_port?: number }>('PATCH', `/v1/rules/${rule_id}`, {
          listen_port: port,
          targets
        })
        const expected = port === takenPort ? 409 : 200
        if (status !== expected || (status === 200 && body.listen_port !== port))
          wrong.push(`${change}: port ${port} is answered ${status} ${JSON.stringify(body)}`)
      }
    }
    await Promise.all(Array.from({ length: rules }, (_, rule) => changeRule(20_000 + 1_000 * rule)))

    t.same(wrong, [])
  })
