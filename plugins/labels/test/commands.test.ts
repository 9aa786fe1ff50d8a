// Labels on the command line: set at creation, changed and shown.
import t from 'tap'
import { Fault } from '../../../kernel/base/errors.ts'
import type { CommandCall } from '../../../kernel/cli/command.ts'
import { pushOptionsSlot } from '../../rules/command-exports.ts'
import { commands, fills } from '../commands.ts'

const id = '01K9ZJ4M5N6P7Q8R9S0TABCDEF'

async function label(noun: string, given: readonly string[]) {
  const requests: unknown[] = []
  const call = {
    args: { [noun]: noun === 'rule' ? id : 'x', label: given },
    api: {
      send: async (...request: unknown[]) => {
        requests.push(request)
        return { labels: {} }
      }
    },
    print: { done() {} }
  } as unknown as CommandCall<never> // only the members that this command uses
  const failure = await commands
    .find(({ name }) => name === `${noun} label`)
    ?.run(call)
    .catch((error: unknown) => error)
  return { requests, failure }
}

t.test('the command label sends a merge patch', async t => {
  t.same((await label('user', ['env=prod', 'empty=', 'old-', 'a=b=c', 'x-y=z'])).requests, [
    ['PATCH', '/v1/users/x', { labels: { env: 'prod', empty: '', old: null, a: 'b=c', 'x-y': 'z' } }]
  ])
  t.same((await label('grant', ['env=prod'])).requests, [
    ['PATCH', '/v1/grants/x', { labels: { env: 'prod' } }]
  ])
  t.same((await label('rule', ['env-'])).requests, [['PATCH', `/v1/rules/${id}`, { labels: { env: null } }]])
})

t.test('an invalid label is refused without a request', async t => {
  for (const text of ['env', '=prod', '-', '']) {
    const { requests, failure } = await label('user', [text])
    t.match(failure, { message: /is not a label: write key=value/ }, text)
    t.same(requests, [])
  }
})

t.test('--label cannot remove labels of a new record', async t => {
  const fill = fills.find(({ slot }) => (slot as object) === pushOptionsSlot)
  if (!fill) throw new TypeError('rule push has no options for labels')
  const { body } = fill.make(() => ({})) as { body(args: object): object }

  t.same(body({ label: ['env=prod'] }), { labels: { env: 'prod' } })
  t.same(body({}), {})
  t.throws(() => body({ label: ['env-'] }), Fault)
})
