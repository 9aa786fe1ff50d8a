// A configuration that `agent check` accepts is one that `agent run` starts with, and both refuse with the same words.
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { TSchema } from 'typebox'
import { agentKeys } from '../../agent/config.ts'
import { checkAgent, startAgent } from '../../agent/main.ts'
import { Fault } from '../../kernel/base/errors.ts'
import { privateDir } from '../support/private-dir.ts'

type Env = Readonly<Record<string, string>>

async function verdictOf(work: () => Promise<unknown>): Promise<string> {
  try {
    await work()
    return 'accepted'
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return `${error.errorCode.code}: ${error.message}`
  }
}

async function bothVerdicts({ env = {}, file = null }: { env?: Env; file?: string | null }) {
  const { SVC_ENROLL_URI: uri } = env
  const start = { file, env, bundleFile: undefined, version: '2.0.0' }
  const stopped = AbortSignal.abort()
  return {
    check: await verdictOf(() => checkAgent(start, uri)),
    start: await verdictOf(() => startAgent(start, uri, { stop: stopped, cut: stopped }))
  }
}

const special: Readonly<Record<string, readonly string[]>> = {
  bind: ['localhost', '127.0.0.1:80', '1.2.3', '127.0.0.1,127.0.0.1', '0.0.0.0,127.0.0.1'],
  allow_ports: ['0', '9-1', 'x'],
  allow_targets: ['10.0.0.0/33', '10.0.0.0/8.5'],
  deny_targets: ['10.0.0.0/33', '10.0.0.0/8.5', '10.0.0.0/1e1', '10.0.0.0/+8', 'fe80::1%lo'],
  deny_local_ports: ['70000'],
  exit_entries: ['x'.repeat(256)], // other text can be a name
  plugins: []
}

const wrongValues = (key: string, schema: TSchema): readonly string[] => {
  if ('isPath' in schema) return ['~/x', 'x', '/x\r', '"/x"', ' /x', '$HOME/x']
  if (key.endsWith('_listen')) return ['7082', 'a b:1', '127.0.0.1:70000', '[:::]:1']
  return special[key] ?? ['no such value\r', '1.5']
}

t.test('agent check and a start refuse each wrong value of each key with the same words', async t => {
  const dir = privateDir(t)
  for (const [key, schema] of Object.entries(agentKeys.properties))
    for (const value of wrongValues(key, schema)) {
      const env = { SVC_STATE_DIR: dir, [`SVC_AGENT_${key.toUpperCase()}`]: value }
      const { check, start } = await bothVerdicts({ env })
      t.equal(check, start, `${key} = ${JSON.stringify(value)}`)
      t.match(check, `startup.config_invalid: SVC_AGENT_${key.toUpperCase()}: ${key}`)
    }
})

t.test(
  'agent check and a start say the same of bundle, enrollment, directory and plugin sections',
  async t => {
    const dir = privateDir(t)
    mkdirSync(join(dir, 'open'))
    chmodSync(join(dir, 'open'), 0o755)
    mkdirSync(join(dir, 'broken'), { mode: 0o700 })
    writeFileSync(join(dir, 'broken', 'bundle.json'), 'x', { mode: 0o600 })
    writeFileSync(join(dir, 'file'), '')
    const log = (to: string) => {
      const file = join(dir, `${Math.random()}.toml`)
      writeFileSync(
        file,
        `state_dir = ${JSON.stringify(dir)}\n[plugins.access-log]\nto = ${JSON.stringify(to)}\n`
      )
      return { file }
    }
    const cases: readonly [Parameters<typeof bothVerdicts>[0], RegExp][] = [
      [{ env: { SVC_STATE_DIR: dir } }, /bundle .* does not exist; run sluice agent enroll first/],
      [
        { env: { SVC_STATE_DIR: dir, SVC_ENROLL_URI: "'svc://h:1/enroll?x'" } },
        /remove the quotes around it/
      ],
      [{ env: { SVC_STATE_DIR: join(dir, 'open') } }, /^startup\.insecure_permissions: .*chmod 700/],
      [
        { env: { SVC_STATE_DIR: join(dir, 'file') } },
        /^startup\.data_dir_unusable: state_dir .* is not a directory/
      ],
      [
        { env: { SVC_STATE_DIR: join(dir, 'file', 'x') } },
        /^startup\.data_dir_unusable: state_dir .*ENOTDIR/
      ],
      [{ env: { SVC_STATE_DIR: join(dir, 'broken') } }, /is not JSON; run sluice agent enroll again/],
      [
        log('file:log/access.log'),
        /toml:3: plugins\.access-log\.to must be an absolute path, got "log\/access\.log"/
      ],
      [log('file:~/access.log'), /only a shell expands ~/],
      [log('file:/var/log/x '), /must not begin or end with white space/],
      [log('/var/log/x'), /must be file:\/PATH, unix:\/PATH or stdout/]
    ]
    for (const [given, expected] of cases) {
      const { check, start } = await bothVerdicts(given)
      t.equal(check, start)
      t.match(check, expected)
    }
  }
)
