// The program of the single-file agent: the commands of the agent, of the whole command line.
import { Fault, wrongUsage } from '../../../kernel/base/errors.ts'
import { runCommandLine, type Source } from '../../../plugins/cli/run.ts'
import { index } from '../../command-index.ts'

// Plugins import `sluice/agent-plugin` from this file (see public-modules.ts), to use the modules that run here.
export * from '../../../agent/public.ts'

const absent = async (): Promise<never> => {
  throw new Fault(wrongUsage, 'this program has only the commands of the agent')
}
const source: Source = {
  modules: {
    agent: () => import('../../../agent/commands.ts'),
    doctor: () => import('../../../plugins/doctor/commands.ts')
  },
  index,
  loadManifests: absent,
  loadServerSide: absent
}

// Not awaited by this module: a plugin that imports it would wait for the end of the program.
void runCommandLine(process.argv.slice(2), source).then(exit => process.exit(exit))
