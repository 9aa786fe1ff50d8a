// What a command has that works on the server itself: its configuration, data directory, store and services.
import { openLog } from '../../config/log.ts'
import type { ConfigFile } from '../../config/sources.ts'
import type { Releases } from '../../kernel/base/releases.ts'
import type { CommandCall } from '../../kernel/cli/command.ts'
import { type ServerOptions, wire } from '../../kernel/kernel.ts'
import type { Plugin } from '../../kernel/plugin.ts'
import { kernelStore } from '../../kernel/store/kernel-store.ts'
import { checkedKeys, dataDirOf, type GivenKeys, givenKeys, logOf } from './config.ts'
import { checkFilesystem } from './filesystem.ts'
import { serve } from './serve.ts'

interface Context {
  readonly version: string
  readonly plugins: readonly Plugin[]
  readonly sections: ServerOptions['sections']
  readonly file: ConfigFile | null
}

interface Lifetime {
  readonly signal: AbortSignal // default end of a server
  readonly acquired: Releases // by `open`
}

type ServerSide = Pick<CommandCall<object>, 'keys' | 'dataDir' | 'stores' | 'open' | 'serve'>

export function openServerSide(
  context: Context,
  given: Readonly<Record<string, unknown>>,
  { signal: stop, acquired }: Lifetime
): ServerSide {
  const keys = (): GivenKeys => givenKeys(context, given)
  return {
    keys: () => checkedKeys(context, keys()),
    dataDir: () => dataDirOf(keys().keys),
    stores: [kernelStore, ...context.plugins],
    async open(plugin) {
      const current = keys()
      const { depsOf, releases } = await wire(optionsOf(context, current, await openLog(logOf(current.keys))))
      acquired.defer(() => releases.run())
      return depsOf(plugin)
    },
    serve: ({ signal = stop, defaults = {}, onLog }) => {
      const given = keys()
      const current = { ...given, keys: { ...defaults, ...given.keys } }
      return serve({
        options: log => optionsOf(context, current, log),
        log: logOf(current.keys),
        onLog,
        signal
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
  checkFilesystem(dataDir)
  return { plugins, sections, keys, placeOf, version, log, dataDir }
}
