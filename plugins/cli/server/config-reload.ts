// At SIGHUP a running server reloads its configuration. Keys with `hot` in their schema apply at once, because their plugins
// read the value at each use. The log lists the changed keys that need a restart.
import { isDeepStrictEqual } from 'node:util'
import { Fault, reasonOf } from '../../../kernel/base/errors.ts'
import type { Server } from '../../../kernel/kernel.ts'
import type { LeveledLog } from '../../../kernel/platform/log.ts'
import type { Plugin } from '../../../kernel/plugin.ts'
import { type GivenConfig, serverKeys, validateSettings } from '../../../kernel/settings.ts'
import type { ServerLife } from './server-life.ts'

export interface Reread extends GivenConfig {
  readonly otherPlugins: readonly string[] // names under [plugins] that were added, enabled or disabled since the start
}

interface Options {
  readonly server: Pick<Server, 'http' | 'depsOf'>
  readonly plugins: readonly Plugin[]
  readonly started: GivenConfig
  /** Reads and judges the configuration again. Throws Fault if it is invalid. */
  readonly reread: () => Reread
  readonly life: ServerLife
  readonly log: LeveledLog
}

type Values = Record<string, unknown>

interface Key {
  readonly name: string // in the file
  readonly schema: object
  readonly live: Values // holds the current value
  readonly next: Values
  readonly at: string // the key in both
}

/** Returns a function that reloads. Reloads run one at a time. A failed reload changes nothing and is logged. */
export function openConfigReload({
  server,
  plugins,
  started,
  reread,
  life,
  log
}: Options): () => Promise<void> {
  const own: Values = { ...validateSettings(plugins, started).server }
  let last = Promise.resolve()

  function keysOf(next: ReturnType<typeof validateSettings>): Key[] {
    const keysIn = (properties: object = {}, prefix: string, live: object, next: object): Key[] =>
      Object.entries(properties).map(([at, schema]) => ({
        name: prefix + at,
        schema,
        live: live as Values,
        next: next as Values,
        at
      }))
    const pluginKeys = plugins.flatMap(({ name, keys, config }) => {
      const live = server.depsOf(name).config
      const after = next.configOf(name) as object
      const sectionKeys = keysIn(config?.properties, `plugins.${name}.`, live, after)
      return [...keysIn(keys?.properties, '', live, after), ...sectionKeys]
    })
    return [...keysIn(serverKeys.properties, '', own, next.server), ...pluginKeys]
  }

  async function reload(): Promise<void> {
    const given = reread()
    const next = validateSettings(plugins, given)
    const changed = keysOf(next).filter(({ live, next, at }) => !isDeepStrictEqual(live[at], next[at]))
    const certificateUntil = server.http.renewCertificate?.(next.configOf('http')) // throws before anything is changed
    const { true: hot = [], false: cold = [] } = Object.groupBy(changed, key => `${isHot(key)}`)
    for (const { live, next, at } of hot) live[at] = next[at]
    log.setLevel(String(own['log_level']))
    const keys = [...cold.map(({ name }) => name), ...given.otherPlugins]
    if (keys.length > 0)
      log.warn('server.restart_needed', `these changes need a restart: ${keys.join(', ')}`, {
        keys
      })
    log.info('server.reloaded', 'the configuration was reloaded', {
      changed: hot.map(({ name }) => name),
      ...(certificateUntil && { certificate_until: certificateUntil })
    })
  }

  const logRefused = (error: unknown): void =>
    log.error('server.reload_refused', `nothing was changed: ${reasonOf(error)}`, {
      ...(!(error instanceof Fault) && error instanceof Error && { error: error.stack })
    })

  return () => {
    last = last.then(life.reloading).then(reload).catch(logRefused).then(life.ready)
    return last
  }
}

/** An optional key that appears or disappears needs a restart, even if it is hot. */
const isHot = ({ schema, live, next, at }: Key): boolean =>
  Reflect.get(schema, 'hot') === true && live[at] !== undefined && next[at] !== undefined
