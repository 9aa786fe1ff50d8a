// The commented defaults contain every key, and every TOML sample in the documentation is valid.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'smol-toml'
import t from 'tap'
import { type TObject, Type } from 'typebox'
import { agentKeys } from '../agent/config.ts'
import { plugins as builtin } from '../config/plugins.ts'
import { validateConfig } from '../kernel/base/config.ts'
import { serverKeys } from '../kernel/settings.ts'

const root = join(import.meta.dirname, '..')

/** Parses a sample after removing the comment signs before its keys. */
const uncommented = (file: string): Record<string, unknown> =>
  parse(keysOf(readFileSync(join(root, file), 'utf8')).replaceAll(/^# ([a-z_]+ = .*)$/gm, '$1'))

const keysOf = (text: string): string => text.split(/^# \[plugins/m, 1)[0] ?? ''

const omit = (table: Record<string, unknown>, omitted: string): object =>
  Object.fromEntries(Object.entries(table).filter(([key]) => key !== omitted))

async function everyKey(): Promise<TObject> {
  const plugins = await Promise.all(Object.values(builtin).map(async load => (await load()).default))
  return Type.Object({
    ...serverKeys.properties,
    ...Object.assign({}, ...plugins.map(({ keys }) => keys?.properties ?? {}))
  })
}

t.test('config/server.toml and config/agent.toml contain every key, and each parses', async t => {
  const table: readonly [string, TObject][] = [
    ['config/server.toml', await everyKey()],
    ['config/agent.toml', agentKeys]
  ]
  for (const [file, schema] of table) {
    const shown = uncommented(file)

    t.same(validateConfig(schema, omit(shown, 'operator_token'), '').problems, [], file)
    const known = Object.keys(schema.properties).filter(key => key !== 'plugins')
    t.same(
      known.filter(key => !(key in shown)),
      [],
      `${file} shows every key`
    )
  }
})

t.test('the defaults in config/server.toml are the real ones', async t => {
  const schema = await everyKey()
  const shown = uncommented('config/server.toml')
  const { value: defaults } = validateConfig(schema, {}, '')

  const notDefault = new Set(['trusted_proxies']) // shows an example
  for (const [key, value] of Object.entries(defaults))
    if (key in shown && !notDefault.has(key)) t.same(shown[key], value, key)
})

t.test('config/cluster.toml is valid, and has only the required keys', async t => {
  const shown = parse(readFileSync(join(root, 'config/cluster.toml'), 'utf8'))

  t.same(validateConfig(await everyKey(), shown, '').problems, [])
  t.same(Object.keys(shown), ['store_url', 'advertised_endpoint', 'data_dir'], 'all other keys have defaults')
  t.equal(new Set(shown['advertised_endpoint'] as string[]).size, 3)
  const given = uncommented('config/cluster.toml')
  for (const key of ['control_listen', 'operator_http_listen', 'metrics_listen'])
    t.equal(given[key], uncommented('config/server.toml')[key], `${key} is the default`)
})

t.test('every TOML sample is valid: configuration of the server, or rules for apply', async t => {
  const schema = await everyKey()
  const files = globSync(['README.md', 'docs/*.md', 'plugins/*/README.md'], { cwd: root }).sort()
  const samples = files.flatMap(file =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/^```toml\n([\s\S]*?)^```$/gm)].map(
      ([, text]) => [file, parse(text ?? '')] as const
    )
  )
  t.not(samples.length, 0)

  for (const [file, sample] of samples) {
    if ('rules' in sample || 'grants' in sample || 'quotas' in sample) continue // see plugins/apply/test
    t.same(validateConfig(schema, omit(sample, 'plugins'), '').problems, [], file)
  }
})

t.test('the README shows how to start and how to test', async t => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8')

  t.match(readme, /npm ci && npm start/)
  t.match(readme, /npm ci && npm test/)
})
