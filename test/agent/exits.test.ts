// The permissions of an agent as exit of other clients, from its configuration.
import t from 'tap'
import { readAgentConfig } from '../../agent/config.ts'
import type { AgentCall, AgentPlugin } from '../../agent/plugin.ts'
import type { Reloadable } from '../../agent/reload.ts'
import { openExits } from '../../agent/rules/exits.ts'
import { scriptedServer } from './scripted-server.ts'
import { startTestAgent } from './test-agent.ts'

const paris = '01J0000000000000000000000P'

t.test('by default an agent serves all entries, else those of its list by id or name, or none', async t => {
  const allows = (env: Record<string, string>) =>
    openExits(() => readAgentConfig({ file: null, env })).allows(paris, 'paris')
  t.equal(allows({}), true)
  t.equal(allows({ SVC_EXIT_ENTRIES: 'lyon,paris' }), true)
  t.equal(allows({ SVC_EXIT_ENTRIES: paris }), true)
  t.equal(allows({ SVC_EXIT_ENTRIES: 'lyon' }), false)
  t.equal(allows({ SVC_ALLOW_EXIT: 'false', SVC_EXIT_ENTRIES: 'paris' }), false)
})

t.test('a reload changes which entries an agent serves', async t => {
  let call: AgentCall | undefined
  let up = Promise.withResolvers<void>()
  const plugin: AgentPlugin = {
    name: 'extra',
    agent: '^1.7.0',
    async start(scope) {
      call = scope.call
    },
    lifecycle(phase) {
      if (phase === 'up') up.resolve()
    }
  }
  const { guardrails } = readAgentConfig({ file: null, env: {} })
  const next: Reloadable = {
    plugins: [plugin],
    configs: {},
    guardrails,
    exits: { allow_exit: false, exit_entries: [] }
  }
  const server = await scriptedServer(t)
  const { reload } = startTestAgent(t, {
    dir: t.testdir(),
    server,
    plugins: [plugin],
    reread: async () => next
  })
  await up.promise
  t.equal(call?.exits.allows(paris, 'paris'), true)
  up = Promise.withResolvers()
  reload()
  await up.promise
  t.equal(call?.exits.allows(paris, 'paris'), false)
})
