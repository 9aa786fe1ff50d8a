// The command line of the whole program: the commands of server, agent and plugins.

import { index } from '../../config/command-index.ts'
import { commandModules as modules } from '../../config/commands.ts'
import { plugins } from '../../config/plugins.ts'
import { runCommandLine, type Source } from './run.ts'

const source: Source = {
  modules,
  index,
  async loadManifests(own, file) {
    const { loadManifests } = await import('./manifests.ts')
    return loadManifests(plugins, own, file)
  },
  loadServerSide: () => import('./server-side.ts')
}

/** Returns the exit code. */
export const run = (argv: readonly string[]): Promise<number> => runCommandLine(argv, source)
