// Server and agent refuse a plugin for another version. The error names the versions that work.
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ownVersion } from '../../../kernel/platform/version.ts'
import { sluice } from '../../../test/support/process.ts'

const manifest = (more: object): string =>
  `export default ${JSON.stringify({ name: 'acme', version: '3.1.0', kernel: '^2.0.0', agent: '^1.0.0', ...more })}\n`

/** Starts server or agent with a plugin of these files. Returns the exit code and the error. */
async function refusal(t: Test, half: 'server' | 'agent', files: Record<string, string>) {
  const dir = t.testdir({ acme: files, 'sluice.toml': '[plugins."./acme"]\n' })
  chmodSync(join(dir, 'acme'), 0o755)
  for (const file of Object.keys(files)) chmodSync(join(dir, 'acme', file), 0o644)
  const argv = half === 'server' ? ['server', '--data-dir'] : ['agent', 'run', '--state-dir']
  const { code, stderr } = await sluice([...argv, join(dir, 'state'), '--config', join(dir, 'sluice.toml')])
  return { code, stderr }
}

t.test('the error names the required, the present and the supported versions', async t => {
  const table: readonly ['server' | 'agent', Record<string, string>, RegExp][] = [
    [
      'server',
      { 'plugin.js': manifest({ kernel: '^3.0.0' }) },
      /acme 3\.1\.0 needs sluice with kernel \^3\.0\.0, found 2\.0\.0: .* supports 2\.0\.0, or install sluice with kernel \^3\.0\.0/
    ],
    [
      'server',
      { 'plugin.js': manifest({ needs: { rules: '^4.0.0' } }) },
      /acme 3\.1\.0 needs rules \^4\.0\.0, found 1\.0\.0: .* supports 1\.0\.0, or install rules \^4\.0\.0/
    ],
    [
      'server',
      { 'plugin.js': manifest({ needs: { 'acme-base': '^1.2.0' } }) },
      /acme needs acme-base \^1\.2\.0, which is not loaded/
    ],
    [
      'agent',
      { 'plugin.js': manifest({}), 'agent.js': manifest({ agent: '~1.99.0' }) },
      /acme needs sluice with agent ~1\.99\.0, found (1\.\d+\.0): .* supports \1, or install sluice with agent ~1\.99\.0/
    ]
  ]
  for (const [half, files, stderr] of table)
    t.match(await refusal(t, half, files), { code: 78, stderr }, String(stderr))
})

t.test('an import that only a newer version has is reported by name', async t => {
  const newer = (of: string) => `import { defineMarvel } from 'sluice/${of}'\n${manifest({})}`
  const errorOf = (of: string) =>
    new RegExp(
      `plugin ./acme: 'sluice/${of}' does not provide .* 'defineMarvel': this is sluice ${ownVersion()}; install`
    )

  t.match(await refusal(t, 'server', { 'plugin.js': newer('plugin') }), {
    code: 78,
    stderr: errorOf('plugin')
  })
  t.match(await refusal(t, 'agent', { 'plugin.js': manifest({}), 'agent.js': newer('agent-plugin') }), {
    code: 78,
    stderr: errorOf('agent-plugin')
  })
})
