// The server's configuration, as a command line finds it.
import { join, resolve } from 'node:path'
import { type TObject, Type } from 'typebox'
import {
  parseFile,
  readConfig,
  requirePrivateFile,
  throwProblems,
  validateConfig
} from '../../kernel/base/config.ts'
import type { Plugin } from '../../kernel/plugin.ts'
import { serverKeys } from '../../kernel/settings.ts'

type Args = Readonly<Record<string, unknown>>

interface Source {
  readonly plugins: readonly Plugin[]
  readonly configFile: string | null
}

const keysOf = (plugins: readonly Plugin[]): TObject =>
  Type.Object({
    ...serverKeys.properties,
    ...Object.assign({}, ...plugins.map(plugin => plugin.keys?.properties ?? {}))
  })

/** Top-level keys of file, environment and flags; not checked yet: a start checks them with all sections. */
export function givenKeys({ plugins, configFile }: Source, given: Args): Args {
  const keys = keysOf(plugins)
  const flags = Object.fromEntries(Object.keys(keys.properties).map(key => [key, given[key]]))
  const { plugins: _, ...table } = readConfig(keys, { file: configFile, env: process.env, flags })
  if (configFile !== null && 'operator_token' in parseFile(configFile))
    requirePrivateFile(configFile, 'operator_token')
  return table
}

/** Checked, with defaults: for commands that start nothing. */
export function checkedKeys({ plugins }: Source, given: Args): Args {
  const { value, problems } = validateConfig(keysOf(plugins), given, '')
  throwProblems(problems)
  return value
}

/** Where the data lies when no flag and no key says so. STATE_DIRECTORY is systemd's, and may name several. */
function defaultDataDir(env: Readonly<Record<string, string | undefined>>): string {
  const [given] = (env['STATE_DIRECTORY'] ?? '').split(':')
  return given || join(env['XDG_STATE_HOME'] || join(env['HOME'] ?? '.', '.local', 'state'), 'sluice')
}

export const dataDirOf = (keys: Args): string =>
  resolve(String(keys['data_dir'] ?? defaultDataDir(process.env)))

/** A level that is none is told with the configuration's other problems, at the default level. */
export const logOf = (keys: Args) => ({
  level: /^(debug|info|warn|error)$/.exec(String(keys['log_level']))?.[0] ?? 'info',
  format: keys['log_format'] === 'pretty' ? ('pretty' as const) : ('json' as const)
})
