import t from 'tap'
import { openPeerResults } from '../peer-results.ts'

const object = { clientId: 'paris', kind: 'thing', id: 'one' }
const result = { ...object, revision: 7, removal: null, status: 'applied', code: '', message: '' }

/** Opens results over a store that gives these answers in turn. */
function open(answers: (Error | readonly object[])[]) {
  const recorded: number[] = []
  const results = openPeerResults({
    signals: {
      async query<R>() {
        const answer = answers.shift()
        if (!Array.isArray(answer)) throw answer
        return answer as R[]
      },
      ...{ send() {}, hold: async () => true, onSignal: () => () => {} }
    },
    local: {
      find: () => undefined,
      isHandedOver: () => false,
      all: () => [],
      replaced() {},
      wake() {},
      recorded: ({ revision }) => void recorded.push(revision)
    }
  })
  return { ...results, recorded }
}

t.test('a change is answered after a failed poll', async t => {
  const { watch, poll, recorded } = open([new Error('the connection was cut'), [result]])
  watch({ object, result: Promise.withResolvers().promise })

  await t.rejects(poll(), { message: 'the connection was cut' })
  await poll()

  t.same(recorded, [7])
})

t.test('the results of all revisions are reported, in their order', async t => {
  const { watch, poll, recorded } = open([[{ ...result, revision: 6, status: 'refused' }, result]])
  watch({ object, result: Promise.withResolvers().promise })

  await poll()

  t.same(recorded, [6, 7])
})

t.test('an object that nobody waits for is not polled', async t => {
  const { watch, poll, recorded } = open([])
  const waits = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  for (const { promise } of waits) watch({ object, result: promise })

  waits[0]?.resolve()
  await waits[0]?.promise
  await t.rejects(poll(), 'the other one waits')
  waits[1]?.resolve()
  await waits[1]?.promise
  await poll()

  t.same(recorded, [])
})
