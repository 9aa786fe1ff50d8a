// The command line of the `sluice` program: commands of the server, the agent and the plugins.
import { index } from '../../config/command-index.ts'
import { commandModules as modules } from '../../config/commands.ts'
import { type BuiltinPlugins, offerBuiltinPlugins } from '../../kernel/platform/plugins/builtin-plugins.ts'
import { runCommandLine, type Source } from './run-command-line.ts'

/** Loads the lists only for the few commands that need them. */
const loadBuiltinPlugins = async (): Promise<BuiltinPlugins> =>
  (await import('../../config/builtin-plugins.ts')).builtinPlugins

const source: Source = {
  modules,
  index,
  async loadManifests(own, file) {
    const [{ loadManifests }, { server }] = await Promise.all([
      import('./program/load-manifests.ts'),
      loadBuiltinPlugins()
    ])
    return loadManifests(server, own, file)
  },
  loadServerContext: () => import('./server/server-context.ts')
}

/** Runs the command line; returns the exit code. */
export function run(argv: readonly string[]): Promise<number> {
  offerBuiltinPlugins(loadBuiltinPlugins)
  return runCommandLine(argv, source)
}
