import t from 'tap'
import { testServer } from '../../kit/test-server.ts'

t.test('a short operator token is logged at every start, without its value', async t => {
  for (const [length, lines] of [
    [31, 1],
    [32, 0]
  ] as const) {
    const token = 'x'.repeat(length)
    const { log } = await testServer(t, { plugins: [], keys: { operator_token: token }, dir: t.testdir() })

    const found = log.filter(({ event }) => event === 'startup.weak_operator_token')
    t.equal(found.length, lines, `${length} characters`)
    t.notMatch(JSON.stringify(found), token)
  }
})
