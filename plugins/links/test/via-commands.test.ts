// `via` on the command line, and in the documents of `apply` and `export`.
import t, { type Test } from 'tap'
import { plugins } from '../../../config/plugins.ts'
import type { CommandCall } from '../../../kernel/cli/command.ts'
import { openDocumentContext } from '../../apply/document-context.ts'
import { makePlan } from '../../apply/plan.ts'
import { apiOf, exportOf, filled } from '../../apply/test/apply-fixture.ts'
import { parseTarget } from '../../rules/commands/request-parts.ts'
import { commands } from '../../rules/commands.ts'
import { type ViaFixture, type ViaRule, viaFixture } from './via-fixture.ts'

const one = { host: '10.0.0.1', port: 80 }

async function open(t: Test) {
  const app = await viaFixture(t, { plugins: Object.keys(plugins) })
  await Promise.all([app.agent('edge'), app.agent('relay'), app.agent('exit'), app.agent('other')])
  return app
}

/** Runs a command of rules as the operator, and returns what it printed as data. */
async function run(app: ViaFixture, name: string, args: object): Promise<readonly ViaRule[]> {
  const printed: unknown[] = []
  const call = {
    args,
    api: apiOf(app),
    filled,
    env: {},
    print: {
      data: (value: unknown) => printed.push(value),
      done: (_: string, value: unknown) => printed.push(value)
    },
    confirm: async () => {}
  } as unknown as CommandCall<never>
  await commands.find(command => command.name === name)?.run(call)
  return printed.flat() as ViaRule[]
}

t.test('a target has the clients of its path in front', async t => {
  t.same(parseTarget('paris/lyon/10.0.0.7:443@1*2'), {
    host: '10.0.0.7',
    port: 443,
    priority: 1,
    weight: 2,
    via: ['paris', 'lyon']
  })
  t.same(parseTarget('exit/[::1]:81+note=a/b'), { host: '[::1]', port: 81, via: ['exit'], note: 'a/b' })
  t.same(parseTarget('10.0.0.7:443'), { host: '10.0.0.7', port: 443 })
})

t.test('rule push creates a rule with a path, and one with paths of targets', async t => {
  const app = await open(t)
  const { relay: relayId, exit: exitId, other: otherId } = app.ids

  const [rule] = await run(app, 'rule push', {
    client: 'edge',
    listen: '8080',
    target: ['10.0.0.1:80', `other/${exitId}/10.0.0.1:80@9`],
    via: 'relay, exit'
  })

  t.match(rule, { via: [relayId, exitId], targets: [one, { ...one, priority: 9, via: [otherId, exitId] }] })
})

t.test('rule set changes and removes the path, and rule list filters by it', async t => {
  const app = await open(t)
  const { rule_id: id } = (await app.push({ targets: [one] })).body
  await app.push({ listen_port: 81 })

  const [changed] = await run(app, 'rule set', { rule: [id, 'via=relay,exit'] })
  t.match(changed, { via: [app.ids.relay, app.ids.exit] })
  t.match(await run(app, 'rule list', { via: 'relay' }), [{ rule_id: id }])
  const [single] = await run(app, 'rule set', { rule: [id, 'via=exit'] })
  t.match(single, { via: [app.ids.exit] })
  t.same(await run(app, 'rule list', { via: 'relay' }), [])
  await t.rejects(run(app, 'rule list', { via: 'nobody' }), { message: /no client is named nobody/ })
  const [target] = await run(app, 'rule set', { rule: [id, 'targets=other/10.0.0.1:80', 'via='] })
  t.match(target, { via: null, targets: [{ ...one, via: [app.ids.other] }] })
})

t.test('export writes names, and apply of the same document changes nothing', async t => {
  const app = await open(t)
  const targets = [one, { ...one, via: null }, { ...one, via: ['other', 'exit'] }]
  await app.push({ name: 'web', via: ['relay', 'exit'], targets })
  await app.push({ listen_port: 81 })
  const context = await openDocumentContext({ api: apiOf(app), filled })

  const document = await exportOf(context)

  t.match(document['rules'], [
    { client: 'edge', via: ['relay', 'exit'], targets: [one, { via: null }, { via: ['other', 'exit'] }] },
    { client: 'edge', listen_port: 81 }
  ])
  t.same((await makePlan(document, 'prune', context)).steps, [])
})

t.test('apply creates and changes paths by names', async t => {
  const app = await open(t)
  const context = await openDocumentContext({ api: apiOf(app), filled })
  const apply = async (via: unknown, more: object = {}) => {
    const rules = [{ client: 'edge', listen_port: 8080, via, targets: [{ ...one, ...more }] }]
    const { steps } = await makePlan({ rules }, 'keep', context)
    for (const step of steps) await step.run()
    return steps.length
  }
  const shown = async () => (await app.call<ViaRule[]>('GET', '/v1/rules')).body[0]

  t.equal(await apply('exit'), 1)
  t.match(await shown(), { via: [app.ids.exit] })
  t.equal(await apply(['exit']), 0)
  t.equal(await apply(['relay', 'exit']), 1)
  t.match(await shown(), { via: [app.ids.relay, app.ids.exit] })
  t.equal(await apply(null, { via: 'other' }), 1)
  t.match(await shown(), { via: null, targets: [{ via: [app.ids.other] }] })
})
