// The command line of the whole program: the commands of server, agent and plugins.
import { runCommandLine, type Source } from '../plugins/cli/run.ts'
import { index } from './command-index.ts'
import { commandModules as modules } from './commands.ts'
import { plugins } from './plugins.ts'

const source: Source = {
  modules,
  index,
  async loadManifests(own, file) {
    const { loadManifests } = await import('../plugins/cli/manifests.ts')
    return loadManifests(plugins, own, file)
  },
  loadServerSide: () => import('../plugins/cli/server-side.ts')
}

/** Returns the exit code. */
export const run = (argv: readonly string[]): Promise<number> => runCommandLine(argv, source)
