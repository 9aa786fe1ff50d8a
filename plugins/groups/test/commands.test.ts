// --clients of `rule push`: names, ids and selectors.
import t from 'tap'
import type { Api } from '../../../kernel/cli/command.ts'
import { parseSelector } from '../../labels/selector.ts'
import { type PushOptions, pushOptionsSlot } from '../../rules/command-exports.ts'
import { fills } from '../commands.ts'

const id = '01KCD3F0P7Q4Y6Z8V1T5S9R2NB'
const rows = [
  { client_id: '01KCD3F0P7Q4Y6Z8V1T5S9R2NC', client_name: 'paris' },
  { client_id: '01KCD3F0P7Q4Y6Z8V1T5S9R2ND', client_name: 'lyon' }
]

/** Judges a selector like the server. */
async function get(path: string): Promise<never[]> {
  parseSelector(new URL(path, 'http://server').searchParams.get('selector') ?? '')
  return []
}

function options(clients = rows) {
  const fill = fills.find(({ slot }) => (slot as object) === pushOptionsSlot)
  if (!fill) throw new TypeError('rule push has no options of groups')
  let lists = 0
  const list = async () => {
    lists++
    return clients
  }
  const api = { list, get } as unknown as Api // only what the option uses
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

t.test(
  "a client's name is not read as a selector or a list, and text with two meanings is refused",
  async t => {
    const ids: Record<string, string> = {
      'env=prod': '01KCD3F0P7Q4Y6Z8V1T5S9R2N1',
      'paris (old)': '01KCD3F0P7Q4Y6Z8V1T5S9R2N2',
      'a,b': '01KCD3F0P7Q4Y6Z8V1T5S9R2N3',
      'paris,lyon': '01KCD3F0P7Q4Y6Z8V1T5S9R2N4',
      '!': '01KCD3F0P7Q4Y6Z8V1T5S9R2N5'
    }
    const named = Object.entries(ids).map(([client_name, client_id]) => ({ client_id, client_name }))
    const { bodyOf } = options([...rows, ...named])

    for (const name of ['paris (old)', 'a,b', '!', ' ! '])
      t.same(await bodyOf(name), { clients: { ids: [ids[name.trim()]] } }, name)
    t.same(await bodyOf('paris (old), lyon'), {
      clients: { ids: [ids['paris (old)'], rows[1]?.client_id] }
    })
    for (const text of ['env=prod', 'paris,lyon', 'env=prod,paris'])
      await t.rejects(
        Promise.resolve(bodyOf(text)),
        { errorCode: { code: 'usage' }, message: /is both .* and .*; give the ids/ },
        text
      )
    t.same(await bodyOf('env=prod,!old'), { clients: { selector: 'env=prod,!old' } })
  }
)

t.test('only --clients replaces CLIENT', async t => {
  const { bodyOf, places } = options()

  t.same(await bodyOf(), {})
  t.equal(places?.({}), false)
  t.equal(places?.({ clients: 'paris' }), true)
})
