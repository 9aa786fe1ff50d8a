import t from 'tap'
import { LaneLimit } from '../objects/lane-limit.ts'

/** An agent that applies one message after another, at the end of a way. Returns the limit after 500 messages. */
function limitFor({ roundTripMs, applyMs }: { readonly roundTripMs: number; readonly applyMs: number }) {
  const limit = new LaneLimit()
  const answers: number[] = [] // times, of unanswered messages
  let now = 0
  for (let sent = 0; sent < 500; sent++) {
    while (answers.length >= limit.max) {
      const answerAt = answers.shift() ?? 0
      now = Math.max(now, answerAt)
    }
    const sentAt = now
    const begun = Math.max(sentAt + roundTripMs / 2, (answers.at(-1) ?? 0) - roundTripMs / 2)
    const answerAt = begun + applyMs + roundTripMs / 2
    answers.push(answerAt)
    limit.answered(answerAt - sentAt, answers.length, answerAt)
  }
  return limit.max
}

t.test('a lane has 32 unanswered messages for a fast agent, near or far', t => {
  t.equal(limitFor({ roundTripMs: 1, applyMs: 0.5 }), 32)
  t.equal(limitFor({ roundTripMs: 300, applyMs: 0.5 }), 32)
  t.end()
})

t.test('a lane has fewer for a slow agent, so that others wait about 50 ms', t => {
  const limit = limitFor({ roundTripMs: 1, applyMs: 10 })
  t.ok(limit >= 4 && limit <= 8, `${limit} messages of 10 ms each`)
  t.equal(limitFor({ roundTripMs: 1, applyMs: 100 }), 4)
  t.end()
})

t.test('a lane begins with 4, and single changes give it no more', t => {
  const limit = new LaneLimit()
  for (let i = 0; i < 100; i++) limit.answered(1, 1, i)
  t.equal(limit.max, 4)

  limit.answered(1, 4, 100)

  t.equal(limit.max, 5)
  t.end()
})

t.test('a slow agent that is far away is kept busy', t => {
  const limit = limitFor({ roundTripMs: 200, applyMs: 10 })
  t.ok(limit >= 20 && limit <= 27, `${limit} messages of 10 ms each in 200 ms`)
  t.end()
})

t.test('after a minute, a longer way to the agent shrinks nothing', t => {
  const limit = new LaneLimit()
  limit.answered(1, 4, 0)
  for (let i = 0; i < 100; i++) limit.answered(300, 32, 1_000)
  t.equal(limit.max, 4)

  for (let i = 0; i < 100; i++) limit.answered(300, 32, 60_000)

  t.equal(limit.max, 32)
  t.end()
})
