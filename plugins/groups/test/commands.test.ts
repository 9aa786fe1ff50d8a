// --clients of `rule push`: names, ids and selectors.
import t from 'tap'
import type { Api } from '../../../kernel/cli/command.ts'
import { type PushOptions, pushOptionsSlot } from '../../rules/command-exports.ts'
import { fills } from '../commands.ts'

const id = '01KCD3F0P7Q4Y6Z8V1T5S9R2NB'
const rows = [
  { client_id: '01KCD3F0P7Q4Y6Z8V1T5S9R2NC', client_name: 'paris' },
  { client_id: '01KCD3F0P7Q4Y6Z8V1T5S9R2ND', client_name: 'lyon' }
]

function options() {
  const fill = fills.find(({ slot }) => (slot as object) === pushOptionsSlot)
  if (!fill) throw new TypeError('rule push has no options of groups')
  let lists = 0
  const list = async () => {
    lists++
    return rows
  }
  const api = { list } as unknown as Api // only what the option uses
  const { body, places } = fill.make(() => ({})) as PushOptions
  return { bodyOf: (clients?: string) => body({ clients }, api), places, lists: () => lists }
}

t.test('text with an operator is a selector; other text is names and ids', async t => {
  const { bodyOf, lists } = options()

  t.same(await bodyOf('paris,lyon'), { clients: { ids: rows.map(({ client_id }) => client_id) } })
  t.equal(lists(), 1)
  t.same(await bodyOf(id), { clients: { ids: [id] } })
  for (const selector of ['env=prod', '!old', 'zone in (a,b)', 'a!=b'])
    t.same(await bodyOf(selector), { clients: { selector } }, selector)
  await t.rejects(Promise.resolve(bodyOf('rome')), { message: /no client is named rome/ })
})

t.test('only --clients replaces CLIENT', async t => {
  const { bodyOf, places } = options()

  t.same(await bodyOf(), {})
  t.equal(places?.({}), false)
  t.equal(places?.({ clients: 'paris' }), true)
})
