// The hooks of a field get its value, the services of its plugin, and the user who makes the change.
import { asFunction } from 'awilix'
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import { defineCode } from '../../../kernel/base/errors.ts'
import { definePlugin, type Kernel } from '../../../kernel/plugin.ts'
import type { Fill } from '../../../kernel/slot.ts'
import { notRepeated } from '../../../test/support/store.ts'
import { Idle } from '../../../test/third-party/note/wire.ts'
import { CommittedMap } from '../../http/exports.ts'
import {
  derivedField,
  type FieldCall,
  type FieldContext,
  fieldUnsupported,
  type HotField,
  ruleField,
  ruleFieldSlot
} from '../exports.ts'
import { messages, RulePush } from '../wire.ts'
import { rule, rulesFixture } from './fixture.ts'

interface Deps extends Kernel {
  readonly seen: string[] // a service of the plugin
}

const missing = defineCode('validation.dial_missing', 400, 3)
const requires = { capability: { id: 'rule.dial', since: '1.0.0' }, refusal: fieldUnsupported }
const values = new CommittedMap<string, number>() // 0: none

/** Records the hook, the time of its clock, and the user who makes the change. */
const note = (hook: string, { deps: { seen, clock } }: FieldContext<Deps>, by = ''): void =>
  void seen.push(`${hook} ${new Date(clock.now()).getUTCFullYear()} ${by}`.trim())

const dial = {
  key: 'dial',
  change: 'hot',
  updateEmpty: missing,
  body: Type.Integer(),
  requires,
  message: Idle,
  parse(value: number, _rule: unknown, _body: unknown, call: FieldCall<Deps>) {
    note('parse', call, call.principal.userId)
    return value
  },
  async check(_value, _rule, _em, call: FieldCall<Deps>) {
    note('check', call, call.principal.userId)
  },
  async save(id, value, em, call: FieldCall<Deps>) {
    note(`save ${value}`, call, call.principal.userId)
    values.setBy(em, id, value)
  },
  async clear(id, em, call: FieldCall<Deps>) {
    note('clear', call, call.principal.userId)
    values.setBy(em, id, 0)
  },
  async load(ids, em, context: FieldContext<Deps>) {
    note('load', context)
    return new Map(
      ids.map(id => [id, values.seenBy(em, id) ?? 0] as const).filter(([, value]) => value !== 0)
    )
  },
  encode(secs, _rule, context: FieldContext<Deps>) {
    note('encode', context)
    return { secs }
  }
} satisfies HotField<ReturnType<typeof Type.Integer>, typeof Idle.body, Deps>

const fills: Record<string, Fill> = {
  ruleField: ruleField(dial),
  'fillWith of the slot': ruleFieldSlot.fillWith((deps: Deps) => ({ ...dial, deps }))
}

async function open(t: Test, fill: Fill) {
  values.clear()
  const seen: string[] = []
  const plugin = definePlugin<Deps>({
    name: 'dial',
    version: '1.0.0',
    kernel: '^2.0.0',
    needs: { rules: '^1.0.0' },
    codes: [missing],
    services: { seen: asFunction(() => seen).singleton() },
    fills: [fill],
    messages: [Idle]
  })
  const app = await rulesFixture(t, { plugins: ['users', 'clients', 'rules', plugin] })
  const capabilities = { [requires.capability.id]: '1.0.0' }
  let refuses = false
  await app.connect(await app.enroll(), {
    capabilities,
    messages: [...messages, Idle],
    react: ({ name }) => (refuses && name === RulePush.name ? { refuse: 'activation_failed' } : 'accept')
  })
  return {
    ...app,
    seen,
    refuse() {
      refuses = true
    }
  }
}

for (const [how, fill] of Object.entries(fills))
  t.test(`each hook gets the services of its plugin and who makes the change: ${how}`, async t => {
    const { push, call, seen } = await open(t, fill)

    const { body } = await push({ dial: 3 })
    const url = `/v1/rules/${body.rule_id}`
    t.match(await call('PUT', url, { ...rule, dial: null }), { status: 200, body: { dial: null } })

    const hooks = ['parse', 'check', 'save 3', 'clear'].map(hook => `${hook} 2026 _operator`)
    for (const line of [...hooks, 'load 2026', 'encode 2026']) t.ok(seen.includes(line), line)
  })

t.test(
  'the server itself reverts a change that the client refuses',
  { skip: notRepeated('it notes each call of a hook') },
  async t => {
    const { push, call, seen, refuse } = await open(t, ruleField(dial))
    const { body } = await push({ dial: 3 })
    refuse()

    t.match(await call('PUT', `/v1/rules/${body.rule_id}`, { dial: 4 }), { status: 422 })

    t.same(
      seen.filter(line => line.startsWith('save')),
      ['save 3 2026 _operator', 'save 4 2026 _operator', 'save 3 2026 _rules']
    )
  }
)

t.test('a derived field gets the services of its plugin', async t => {
  const derived = derivedField({
    key: 'dialled',
    requires,
    message: Idle,
    async derive(rules, _em, context: FieldContext<Deps>) {
      note('derive', context)
      return new Map(rules.map(({ id }) => [id, { secs: 7 }]))
    }
  })
  const { push, seen } = await open(t, derived)

  t.match(await push(), { status: 201 })

  t.ok(seen.includes('derive 2026'))
})
