import { type Static, type TObject, Type } from 'typebox'
import { ListenAddress, type PlaceOf, throwProblems, validateConfig } from './base/config.ts'
import type { Plugin } from './plugin.ts'
import { storeKeys } from './store/sql/database.ts'

export const Listen = (fallback: string, description: string) =>
  ListenAddress({ default: fallback, description })

/** The kernel's keys. Plugins declare the others: see `keys` in plugin.ts. */
export const serverKeys = Type.Object({
  data_dir: Type.Optional(Type.String({ isPath: true, description: 'Directory of the store and the keys.' })),
  operator_token: Type.Optional(
    Type.String({
      isToken: true,
      minLength: 8,
      pattern: '^(?!svct_)',
      description: 'Token for automation; see gen-token.'
    })
  ),
  log_level: Type.Union(
    ['debug', 'info', 'warn', 'error'].map(level => Type.Literal(level)),
    { default: 'info', description: 'Lowest level to write.', hot: true }
  ),
  log_format: Type.Enum(['auto', 'json', 'pretty'], {
    default: 'auto',
    description: 'json: one object per line; pretty: for people; auto: pretty on a terminal, otherwise json.'
  }),
  ...storeKeys
})

export interface GivenConfig {
  readonly keys: Readonly<Record<string, unknown>> // top-level keys
  readonly sections: Readonly<Record<string, unknown>> // by plugin
  readonly placeOf?: PlaceOf | undefined // takes dotted keys, such as plugins.NAME.KEY
}

/** Validates the top-level keys and the sections of all plugins. Throws one Fault with all problems. */
export function validateSettings(plugins: readonly Plugin[], { keys, sections, placeOf }: GivenConfig) {
  const all = Type.Object({
    ...serverKeys.properties,
    ...Object.assign({}, ...plugins.map(plugin => plugin.keys?.properties ?? {}))
  })
  const top = validateConfig(all, keys, '', placeOf)
  const configs = plugins.map(({ name, config = Type.Object({}), keys: owned }) => {
    const { value, problems } = validateConfig(config, sections[name], `plugins.${name}`, placeOf)
    const own = Object.keys(owned?.properties ?? {}).map(key => [key, top.value[key]])
    return { name, problems, value: { ...value, ...Object.fromEntries(own) } }
  })
  throwProblems([...top.problems, ...configs.flatMap(({ problems }) => problems)])
  const byName = new Map(configs.map(({ name, value }) => [name, value]))
  return {
    server: top.value as Static<typeof serverKeys>, // validated above
    configOf: (name: string): Static<TObject> => byName.get(name) ?? {}
  }
}
