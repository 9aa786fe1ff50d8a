// The program of the single-file agent: the agent's commands only.
import { Fault, wrongUsage } from '../../../kernel/base/errors.ts'
import { runCommandLine, type Source } from '../../../plugins/cli/run-command-line.ts'
import { index } from '../../command-index.ts'

// Plugins import `sluice/agent-plugin` from this file (see public-modules.ts), and so share its modules.
export * from '../../../agent/public.ts'

const absent = async (): Promise<never> => {
  throw new Fault(wrongUsage, 'this program has only the commands of the agent')
}
const source: Source = {
  modules: {
    agent: () => import('../../../agent/commands.ts'),
    doctor: () => import('../../../plugins/doctor/commands.ts'),
    metrics: () => import('../../../plugins/metrics/commands.ts')
  },
  index,
  loadManifests: absent,
  loadServerContext: absent
}

// Not awaited: a plugin that imports this module would wait for the program to end.
void runCommandLine(process.argv.slice(2), source).then(exit => process.exit(exit))
