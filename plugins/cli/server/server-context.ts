// The context of a command that runs on the server's host: configuration, data directory, store and services.

import { plugins as builtin } from '../../../config/plugins.ts'
import { throwProblems } from '../../../kernel/base/config.ts'
import type { Releases } from '../../../kernel/base/releases.ts'
import type { CommandCall } from '../../../kernel/cli/command.ts'
import { type ServerOptions, wire } from '../../../kernel/kernel.ts'
import { type ConfigFile, readConfigFile } from '../../../kernel/platform/config-file.ts'
import { openLog } from '../../../kernel/platform/log.ts'
import { pluginSections, settingsIn } from '../../../kernel/platform/plugins/load-plugins.ts'
import type { Plugin } from '../../../kernel/plugin.ts'
import { pluginProblems } from '../../../kernel/plugin-problems.ts'
import { validateSettings } from '../../../kernel/settings.ts'
import { kernelStore } from '../../../kernel/store/kernel-store.ts'
import { listensIn, tryListen } from '../../http/listener-exports.ts'
import type { Manifests } from '../program/installed-commands.ts'
import type { Reread } from './config-reload.ts'
import { isLocked } from './is-locked.ts'
import { judgeConfiguration } from './judge-configuration.ts'
import { openStoreFile } from './open-store-file.ts'
import { dataDirOf, type GivenKeys, logOptions, readServerKeys } from './read-server-keys.ts'
import { serve } from './serve.ts'

type Table = Readonly<Record<string, unknown>>

interface Context {
  readonly version: string
  readonly plugins: readonly Plugin[]
  readonly sections: ServerOptions['sections']
  readonly specifiers: Manifests['specifiers']
  readonly firstTrusted: Manifests['firstTrusted']
  readonly file: ConfigFile | null
}

interface Lifetime {
  readonly signal: AbortSignal // stops a server, unless the command passes its own
  readonly acquired: Releases // of services that `open` starts
}

type ServerContext = Pick<CommandCall<object>, 'keys' | 'dataDir' | 'stores' | 'open' | 'serve' | 'check'>

export function openServerContext(
  context: Context,
  given: Readonly<Record<string, unknown>>,
  { signal: stop, acquired }: Lifetime
): ServerContext {
  const keys = (): GivenKeys => readServerKeys(context, given)
  return {
    keys() {
      throwProblems(pluginProblems(context.plugins))
      const given = { ...keys(), sections: context.sections }
      const { server, configOf } = validateSettings(context.plugins, given)
      return {
        ...server,
        plugins: Object.fromEntries(context.plugins.map(({ name }) => [name, configOf(name)]))
      }
    },
    dataDir: () => dataDirOf(keys().keys),
    stores: [kernelStore, ...context.plugins],
    async check() {
      const current = keys()
      const dataDir = dataDirOf(current.keys)
      const server = judgeConfiguration({ ...context, ...current, dataDir })
      const isRunning = isLocked(dataDir)
      for (const listen of listensIn(server)) await tryListen(listen, isRunning)
    },
    async open(plugin) {
      const current = keys()
      const options = optionsOf(context, current, await openLog(logOptions(current.keys)))
      const { depsOf, releases } = await wire({ ...options, openStore: openStoreFile })
      acquired.defer(() => releases.run())
      return depsOf(plugin)
    },
    serve: ({ signal = stop, defaults = {}, onLog, isPatient = false }) => {
      const read = keys()
      const current = { ...read, keys: { ...defaults, ...read.keys } }
      return serve({
        options(log) {
          for (const text of context.firstTrusted) log.warn('plugin.trusted', text)
          return optionsOf(context, current, log)
        },
        reread: () => rereadOf(context, given, defaults),
        log: logOptions(current.keys),
        onLog,
        signal,
        isPatient
      })
    }
  }
}

const optionsOf = (
  { plugins, sections, version }: Context,
  { keys, placeOf }: GivenKeys,
  log: ServerOptions['log']
): ServerOptions => {
  const dataDir = dataDirOf(keys)
  judgeConfiguration({ plugins, sections, keys, placeOf, dataDir })
  return { plugins, sections, keys, placeOf, version, log, dataDir }
}

/** Reads the file again, for the plugins that are running. */
function rereadOf(context: Context, given: Table, defaults: Table): Reread {
  const { plugins, specifiers } = context
  const file = context.file && readConfigFile(context.file.path)
  const { keys, placeOf } = readServerKeys({ plugins, file }, given)
  const table = file === null ? {} : pluginSections(file.table, file.placeOf)
  const sectionOf = ({ name }: Plugin) => {
    const specifier = specifiers[name] ?? name
    const origin = Object.hasOwn(builtin, specifier) ? 'built-in' : 'external'
    return [name, settingsIn(table[specifier] ?? {}, origin)] as const
  }
  const running = Object.values(specifiers)
  const wanted = new Set([...Object.keys(builtin), ...Object.keys(table)].filter(isEnabledIn(table)))
  const others = [...wanted].filter(name => !running.includes(name))
  const leaving = running.filter(name => !wanted.has(name))
  const next = {
    keys: { ...defaults, ...keys },
    placeOf,
    sections: Object.fromEntries(plugins.map(sectionOf))
  }
  judgeConfiguration({ plugins, dataDir: dataDirOf(next.keys), ...next })
  return {
    ...next,
    otherPlugins: [...others, ...leaving].map(name => `plugins.${name}`)
  }
}

const isEnabledIn = (table: ReturnType<typeof pluginSections>) => (name: string) =>
  table[name]?.['enabled'] !== false
