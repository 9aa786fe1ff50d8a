import t from 'tap'
import { type AgentPlugin, defineObjectKind } from '../../agent/plugin.ts'
import { checkPlugins } from '../../agent/plugins/check-plugins.ts'
import { agentPlugins } from '../../config/agent-plugins.ts'
import { Echo } from '../support/echo.ts'

const plugin = (name: string, more: Partial<AgentPlugin> = {}): AgentPlugin => ({
  name,
  agent: '^1.0.0',
  ...more
})
const kind = defineObjectKind({
  kind: 'sample',
  push: Echo,
  readPush: ({ text }) => ({ id: text, revision: 1 }),
  answer: id => ({ text: id }),
  apply: async () => {},
  withdraw: async () => ({ done: Promise.resolve() })
})

t.test('the built-in plugins are compatible with each other', async t => {
  const loaded = await Promise.all(Object.values(agentPlugins).map(async load => (await load()).default))

  t.doesNotThrow(() => checkPlugins(loaded))
})

t.test('duplicate names, or a plugin for another contract version, stop the agent', async t => {
  const wrong: [plugins: AgentPlugin[], message: RegExp][] = [
    [[plugin('a'), plugin('a')], /plugin a is in a and a/],
    [[plugin('a', { kinds: [kind] }), plugin('b', { kinds: [kind] })], /kind sample is in a and b/],
    [
      [plugin('a', { capabilities: { x: '1.0.0' } }), plugin('b', { capabilities: { x: '1.1.0' } })],
      /capability x/
    ],
    [
      [plugin('old', { agent: '^0.9.0' })],
      /^old needs sluice with agent \^0\.9\.0, found 1\.7\.0: .* supports 1\.7\.0, or install sluice with agent/
    ],
    [
      [plugin('odd', { agent: 'newest' })],
      /^odd .* newest, which is not a version range; write it like \^1\.7\.0$/
    ]
  ]
  for (const [plugins, message] of wrong)
    t.throws(() => checkPlugins(plugins), { errorCode: { code: 'startup.plugin_failed' }, message })
})
