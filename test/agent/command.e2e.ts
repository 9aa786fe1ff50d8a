import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { writeBundle } from '../../agent/stream/bundle.ts'
import { privateDir } from '../support/private-dir.ts'
import { sluice } from '../support/process.ts'
import { deadEndpoint } from './scripted-server.ts'
import { bundleOf } from './test-agent.ts'

const pin = 'ab'.repeat(32)

t.test('an agent without a bundle fails with a remedy', async t => {
  const { code, stderr } = await sluice(['agent', 'run', '--state-dir', privateDir(t)])

  t.equal(code, 78)
  t.match(stderr, /startup\.config_invalid: bundle .* does not exist; run sluice agent enroll first/)
})

t.test('a revoked agent opens no rules and exits with 4', async t => {
  const dir = join(t.testdir(), 'state')
  mkdirSync(dir, { mode: 0o700 })
  const bundle = bundleOf({ endpoint: await deadEndpoint(), fingerprint: pin }, 'token-one')
  writeBundle(join(dir, 'bundle.json'), { ...bundle, revoked_at: '2026-01-01T00:00:00.000Z' })

  const { code, stderr } = await sluice(['agent', 'run', '--state-dir', dir])

  t.equal(code, 4)
  const line = stderr.split('\n').find(line => line.startsWith('{')) ?? '{}'
  t.match(JSON.parse(line), { level: 'error', event: 'auth.failure', reason: 'token_revoked' })
  t.notOk(existsSync(join(dir, 'state.db')))
})

t.test(
  'a plugin that fails at its start is named in one line, without a stack, and the agent exits 78',
  async t => {
    const plugin = `export default {
    name: 'acme',
    agent: '^1.0.0',
    async start() { throw new Error('no luck') }
  }`
    const dir = t.testdir({ state: {}, acme: {}, 'agent.toml': '[plugins."./acme"]\n' })
    chmodSync(join(dir, 'acme'), 0o755)
    const packageJson = JSON.stringify({ name: 'acme', version: '1.0.0', type: 'module' })
    writeFileSync(join(dir, 'acme', 'package.json'), packageJson, { mode: 0o644 })
    writeFileSync(join(dir, 'acme', 'agent.js'), plugin, { mode: 0o644 })
    writeBundle(
      join(dir, 'state', 'bundle.json'),
      bundleOf({ endpoint: await deadEndpoint(), fingerprint: pin }, 'x')
    )
    chmodSync(join(dir, 'state'), 0o700)
    const paths = ['--config', join(dir, 'agent.toml'), '--state-dir', join(dir, 'state')]

    const { code, stderr } = await sluice(['agent', 'run', ...paths])

    t.equal(code, 78)
    t.match(stderr, /^startup\.plugin_failed: plugin acme did not start: no luck$/m)
    t.notMatch(stderr, /^ +at /m)
  }
)

t.test('enroll takes its URI as an argument, from standard input, or from the environment', async t => {
  const uri = `svc://${await deadEndpoint()}/enroll?pin=sha256:${pin}&code=xyz`
  const args = ['agent', 'enroll', '--state-dir', privateDir(t)]

  const results = [
    await sluice([...args, uri]),
    await sluice([...args, '-'], {}, `${uri}\n`),
    await sluice(args, { SVC_ENROLL_URI: uri }),
    await sluice(['agent', 'run', '--state-dir', privateDir(t)], { SVC_ENROLL_URI: uri })
  ]
  t.same(
    results.map(({ code }) => code),
    [69, 69, 69, 69]
  )
  const without = await sluice(args)
  t.equal(without.code, 2)
})
