// The server's configuration for commands.
import { resolve } from 'node:path'
import { type TObject, Type } from 'typebox'
import {
  parseFile,
  readConfig,
  requirePrivateFile,
  throwProblems,
  validateConfig
} from '../../kernel/base/config.ts'
import { defaultDir } from '../../kernel/base/directory.ts'
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

/** Reads top-level keys from file, environment and flags. A start checks them later, with all sections. */
export function givenKeys({ plugins, configFile }: Source, given: Args): Args {
  const keys = keysOf(plugins)
  const flags = Object.fromEntries(Object.keys(keys.properties).map(key => [key, given[key]]))
  if (flags['data_dir'] === '') delete flags['data_dir'] // an empty name is no name
  const { plugins: _, ...table } = readConfig(keys, { file: configFile, env: process.env, flags })
  if (configFile !== null && 'operator_token' in parseFile(configFile))
    requirePrivateFile(configFile, 'operator_token')
  return table
}

/** Returns checked keys with defaults, for commands that do not start a server. */
export function checkedKeys({ plugins }: Source, given: Args): Args {
  const { value, problems } = validateConfig(keysOf(plugins), given, '')
  throwProblems(problems)
  return value
}

export const dataDirOf = (keys: Args): string =>
  resolve(String(keys['data_dir'] || defaultDir(process.env, 'sluice')))

/** An invalid level is reported later with the other problems of the configuration; until then the default applies. */
export const logOf = (keys: Args) => ({
  level: /^(debug|info|warn|error)$/.exec(String(keys['log_level']))?.[0] ?? 'info',
  format: keys['log_format'] === 'pretty' ? ('pretty' as const) : ('json' as const)
})
