import { PassThrough } from 'node:stream'
import t, { type Test } from 'tap'
import { askEndpoint, askPassword, askUser } from '../answers.ts'
import { openQuestions } from '../questions.ts'

/** A terminal that types each line when asked, and records its output. */
function terminal(t: Test, typed: readonly string[]) {
  const shown: string[] = []
  const left = [...typed]
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => {} })
  t.intercept(process.stderr, 'write', {
    value(text: unknown) {
      shown.push(String(text))
      if (/: $/.test(String(text))) input.write(`${left.shift()}\r`)
      return true
    }
  })
  const questions = openQuestions(input)
  t.teardown(questions.close)
  return { questions, shown: () => shown.join('') }
}

t.test('at a terminal setup asks for a name, and twice for a password without echo', async t => {
  const { questions, shown } = terminal(t, ['ann', 'mistyped', 'secret', 'secret', 'secret'])

  t.equal(await askUser(questions, undefined), 'ann')
  t.equal(await askPassword(questions, {}), 'secret')

  t.match(shown(), /the two passwords differ/)
  t.notMatch(shown(), /mistyped|secret/)
})

t.test(
  'at a terminal setup asks again after an invalid endpoint; an empty answer means this host',
  async t => {
    const spaced = 'a.example:7443, b.example:7443'
    const { questions, shown } = terminal(t, ['https://x/', spaced, 'sluice.example.com:7443', '', ''])

    t.equal(await askEndpoint(questions, undefined), 'sluice.example.com:7443')
    t.match(shown(), '"https://x/" must be host:port')
    t.match(shown(), '" b.example:7443" must be host:port')
    t.equal(await askEndpoint(questions, undefined), undefined)
    t.equal(await askUser(questions, undefined), 'root')
  }
)
