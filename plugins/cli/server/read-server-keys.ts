import { resolve } from 'node:path'
import { type TObject, Type } from 'typebox'
import type { PlaceOf } from '../../../kernel/base/config.ts'
import { defaultDir, requirePrivateFile } from '../../../kernel/base/directory.ts'
import { type ConfigFile, readKeys } from '../../../kernel/platform/config-file.ts'
import type { Plugin } from '../../../kernel/plugin.ts'
import { serverKeys } from '../../../kernel/settings.ts'

type Args = Readonly<Record<string, unknown>>

interface Source {
  readonly plugins: readonly Plugin[]
  readonly file: ConfigFile | null
}

export interface GivenKeys {
  readonly keys: Args
  readonly placeOf: PlaceOf
}

const keysOf = (plugins: readonly Plugin[]): TObject =>
  Type.Object({
    ...serverKeys.properties,
    ...Object.assign({}, ...plugins.map(plugin => plugin.keys?.properties ?? {}))
  })

/** Reads top-level keys from file, environment and flags. They are validated later, together with all sections. */
export function readServerKeys({ plugins, file }: Source, given: Args): GivenKeys {
  const schema = keysOf(plugins)
  const flags = Object.fromEntries(Object.keys(schema.properties).map(key => [key, given[key]]))
  for (const secret of ['operator_token', 'store_password'])
    if (file !== null && secret in file.table) requirePrivateFile(file.path, secret)
  const { table, placeOf } = readKeys(schema, { file, env: process.env, flags })
  const { plugins: _, ...keys } = table
  return { keys, placeOf }
}

export const dataDirOf = (keys: Args): string =>
  resolve(String(keys['data_dir'] || defaultDir(process.env, 'sluice')))

const formats = ['auto', 'json', 'pretty'] as const

/** Returns the log options. Uses the default for an invalid value, which is reported later with all other problems. */
export const logOptions = (keys: Args) => ({
  level: /^(debug|info|warn|error)$/.exec(String(keys['log_level']))?.[0] ?? 'info',
  format: formats.find(format => format === keys['log_format']) ?? 'auto'
})
