// The argument of `explain`: a port of a client, or a rule.
import t from 'tap'
import { commands } from '../commands.ts'

const rule = {
  rule_id: '01K9ZJ4M5N6P7Q8R9S0TABCDEF',
  client_id: 'C',
  listen_port: 80,
  protocol: 'udp',
  state: 'active'
}

/** Runs the command against an API with one rule, and returns the bodies that it sends, and its lines. */
async function explain(args: object, found: object = rule) {
  const sent: unknown[] = []
  const lines: string[] = []
  const step = {
    kind: 'rule',
    id: rule.rule_id,
    rule_name: 'web',
    verdict: 'stop',
    reason: 'paused',
    text: 'paused'
  }
  const explanation = { outcome: 'refused', decided_by: step, steps: [step], targets: [] }
  const api = {
    get: async () => found,
    list: async () => [found],
    call: async (_: string, { body }: { body: object }) => {
      sent.push(body)
      return explanation
    }
  }
  const print = {
    done: (text: string) => lines.push(...text.split('\n')),
    paint: (word: string) => `<${word}>`
  }
  const failure = await commands[0]
    ?.run({ args, api, print } as never) // only what the command uses
    .then(() => null)
    .catch((error: unknown) => error)
  return { sent, lines, failure }
}

t.test('CLIENT:PORT and CLIENT:PORT/udp are asked as they are, even without a rule', async t => {
  t.same((await explain({ place: 'a:b:80' })).sent, [{ client: 'a:b', port: 80, protocol: 'tcp' }])
  t.same((await explain({ place: 'paris:53/udp' })).sent, [{ client: 'paris', port: 53, protocol: 'udp' }])
  t.same((await explain({ place: 'paris:53', protocol: 'udp', source: '192.0.2.1' })).sent, [
    { client: 'paris', port: 53, protocol: 'udp', source: '192.0.2.1' }
  ])
})

t.test('a rule is asked at its port, and the answer has its name', async t => {
  const asked = { client: 'C', port: 80, protocol: 'udp' }
  for (const place of ['web', rule.rule_id]) t.same((await explain({ place })).sent, [asked], place)
  const { sent, lines } = await explain({ place: 'paris/web' })
  t.same(sent, [{ ...asked, client: 'paris' }])
  t.equal(lines[0], `<refused>: paused, by rule web (${rule.rule_id})`)
  t.equal(lines.at(-1), '<stop>  rule      paused')
})

t.test('a group rule needs one of its clients', async t => {
  const group = { ...rule, client_id: null }
  t.match((await explain({ place: 'web' }, group)).failure, {
    errorCode: { exit: 2 },
    message: 'rule web is on several clients; give one with its port, such as paris:80'
  })
  t.same((await explain({ place: 'paris/web' }, group)).sent, [
    { client: 'paris', port: 80, protocol: 'udp' }
  ])
})
