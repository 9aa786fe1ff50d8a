// A command reads its configuration from --config, before or after its name, else from SVC_CONFIG.
import { chmodSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { sluice } from '../../../test/support/process.ts'

const acme = `
import { defineCommand, definePlugin, Type } from 'sluice/plugin'

export default definePlugin({
  name: 'acme',
  version: '1.0.0',
  kernel: '^2.0.0',
  commands: [
    defineCommand({
      name: 'acme hello',
      summary: 'Greet.',
      args: Type.Object({}),
      needs: 'nothing',
      run: async ({ print }) => print.text('hello')
    })
  ]
})
`

/** Writes a configuration with a plugin that adds a command; returns its path. */
function configFixture(t: Test): string {
  const dir = t.testdir({ acme: { 'plugin.js': acme }, 'sluice.toml': '[plugins."./acme"]\n' })
  chmodSync(join(dir, 'acme'), 0o755)
  chmodSync(join(dir, 'acme/plugin.js'), 0o644)
  return join(dir, 'sluice.toml')
}

t.test("a plugin's command is found with --config before or after it, and with SVC_CONFIG", async t => {
  const file = configFixture(t)
  const missing = join(dirname(file), 'none.toml')
  const table: readonly [string[], Record<string, string>][] = [
    [['--config', file, 'acme', 'hello'], {}],
    [[`--config=${file}`, 'acme', 'hello'], {}],
    [['acme', 'hello', '--config', file], {}],
    [['acme', 'hello'], { SVC_CONFIG: file }],
    [['--config', file, 'acme', 'hello'], { SVC_CONFIG: missing }]
  ]

  for (const [args, env] of table)
    t.match(await sluice(args, env), { code: 0, stdout: 'hello\n' }, args.join(' '))
  t.match(await sluice(['acme', 'hello']), { code: 2, stderr: /unknown command/ })
})

t.test('every kind of command takes --config before or after its name', async t => {
  const file = configFixture(t)
  const unreachable = { SVC_SERVER: 'http://127.0.0.1:9', SVC_TOKEN: 'x'.repeat(43) }
  const table: readonly [string[], number][] = [
    [['client', 'list'], 69],
    [['gen-token'], 0],
    [['completion', 'bash'], 0],
    [['cert', 'show', '--data-dir', join(dirname(file), 'data')], 2],
    [['plugin', 'list'], 0],
    [['plugin', 'trust', './acme'], 0]
  ]

  for (const [args, code] of table)
    for (const line of [
      ['--config', file, ...args],
      [...args, '--config', file]
    ]) {
      const result = await sluice(line, unreachable)
      t.equal(result.code, code, `${line.join(' ')}: ${result.stderr}`)
      t.notMatch(result.stderr, /unknown option/)
    }
})

t.test("--config before an agent command names the agent's configuration", async t => {
  const dir = t.testdir({ 'agent.toml': 'bindd = []\n' })

  t.match(await sluice(['--config', join(dir, 'agent.toml'), 'agent', 'run', '--state-dir', dir]), {
    code: 78,
    stderr: /unknown key bindd; did you mean bind\?/
  })
})

t.test('every command names a missing configuration file', async t => {
  const file = join(t.testdir(), 'none.toml')

  for (const args of [['client', 'list'], ['gen-token'], ['plugin', 'list']])
    t.match(await sluice(['--config', file, ...args]), { code: 78, stderr: /none\.toml/ }, args.join(' '))
})
