// States that fields give to rules.
import t from 'tap'
import { definePlugin } from '../../../kernel/plugin.ts'
import { refusal } from '../../grants/test/fixture.ts'
import { shownStateSlot } from '../exports.ts'
import { type Deps, rule, rulesFixture } from './fixture.ts'
import { editable } from './patch-fixture.ts'

async function fixture(t: Parameters<typeof rulesFixture>[0]) {
  const ended = new Map<string, string>()
  const held = new Map<string, string>()
  const of = (states: ReadonlyMap<string, string>) => async (rules: readonly { readonly id: string }[]) =>
    new Map([...states].filter(([id]) => rules.some(rule => rule.id === id)))
  const plugin = definePlugin({
    name: 'times',
    version: '1.0.0',
    kernel: '^2.0.0',
    needs: { rules: '^1.0.0' },
    fills: [
      shownStateSlot.fill({ state: 'ended', port: 'free', load: of(ended) }),
      shownStateSlot.fill({ state: 'waiting', port: 'reserved', load: of(held) })
    ]
  })
  const app = await rulesFixture(t, { plugins: ['users', 'clients', 'rules', plugin] })
  await app.connect(await app.enroll(), editable)
  const { rule_id: id } = (await app.push()).body
  const patch = (body: object) => app.call('PATCH', `/v1/rules/${id}`, body)
  return { app, id, patch, ended, held }
}

t.test('a rule shows the state of a plugin with its reason, also in lists and pages', async t => {
  const { app, id, patch, held, ended } = await fixture(t)
  const { rules, store } = app.server.depsOf('rules') as Deps
  const paged = async () => (await store.read(em => rules.page('', 10, em))).map(({ state }) => state)

  held.set(id, 'waiting until noon')
  t.match(await app.get(id), { state: 'waiting', state_reason: 'waiting until noon' })
  t.match((await app.call('GET', '/v1/rules?state=waiting')).body, [{ rule_id: id }])
  t.same(await paged(), ['waiting'])

  await patch({ paused: true })
  t.match(await app.get(id), { state: 'paused', state_reason: 'paused' }, 'who paused it must resume it')
  ended.set(id, 'ended at noon')
  t.match(await app.get(id), { state: 'ended', state_reason: 'ended at noon' }, 'but this one has no port')
  t.same(await paged(), ['ended'])
})

t.test('a rule in a state that frees its port needs a free port again when the state ends', async t => {
  const { app, id, patch, held, ended } = await fixture(t)
  held.set(id, 'waiting')
  t.match(await app.push(), refusal(409, 'port_in_use'))

  ended.set(id, 'ended')
  t.match(await app.push(), { status: 201 })
  t.match(
    await patch({ targets: [{ host: '10.0.0.9', port: 9 }] }),
    { status: 200 },
    'it has no port to lose'
  )
  ended.clear()
  held.clear()
  t.match(await patch({ targets: rule.targets }), refusal(409, 'port_in_use'))
})
