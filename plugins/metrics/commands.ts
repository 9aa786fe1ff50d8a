// Health commands, for probes where there is neither a shell nor curl: they exit with 0 or 1.
import { systemClock } from '../../kernel/base/clock.ts'
import { Fault, wrongUsage } from '../../kernel/base/errors.ts'
import { Type } from '../../kernel/cli/args.ts'
import { defineCommand } from '../../kernel/cli/command.ts'
import { askHealth, unhealthy } from './ask-health.ts'

const ready = Type.Optional(
  Type.Boolean({ description: 'Ask whether it is ready (/readyz), not only whether it is alive (/livez).' })
)
const config = (of: string) => Type.Optional(Type.String({ description: `TOML configuration of the ${of}.` }))

const health = defineCommand({
  name: 'health',
  summary: 'Ask the server of this host whether it is alive or ready; exits with 1 if not.',
  examples: ['sluice health', 'sluice health --ready --config /etc/sluice/server.toml'],
  args: Type.Object({ ready, config: config('server; default SVC_CONFIG') }),
  needs: 'nothing',
  async run({ args, env, print }) {
    const listen = env['SVC_METRICS_LISTEN'] ?? (await listenIn(args.config ?? env['SVC_CONFIG']))
    print.done(...(await askHealth(listen ?? '127.0.0.1:7081', args.ready === true ? '/readyz' : '/livez')))
  }
})

const agentHealth = defineCommand({
  name: 'agent health',
  summary: 'Ask the agent of this host whether it is alive or ready; exits with 1 if not.',
  examples: ['sluice agent health', 'sluice agent health --ready --state-dir /var/lib/sluice-agent'],
  args: Type.Object({
    ready,
    config: config('agent'),
    state_dir: Type.Optional(Type.String({ description: 'State directory of the agent that runs.' }))
  }),
  needs: 'nothing',
  async run({ args, env, print }) {
    const { readAgentConfig } = await import('../../agent/config.ts') // loads slowly
    const keys = readAgentConfig({ file: args.config ?? null, env, stateDir: args.state_dir })
    const { metrics_listen: listen, state_dir: stateDir } = keys
    if (listen !== undefined)
      return print.done(...(await askHealth(listen, args.ready === true ? '/readyz' : '/livez')))
    const { connected, reason } = await askStatus(stateDir)
    if (args.ready === true && !connected)
      throw new Fault(unhealthy, `the agent of ${stateDir} is not ready: ${reason}`)
    const state = args.ready === true ? 'ready' : 'live'
    print.done(`the agent of ${stateDir} is ${state}`, { status: state })
  }
})

export const commands = [health, agentHealth]

/** Without /metrics, an agent answers on its socket. */
async function askStatus(stateDir: string) {
  const { askAgent } = await import('../../agent/local/ask-agent.ts')
  try {
    const status = await askAgent(stateDir, { command: 'status', args: {} }, systemClock)
    return status as { readonly connected: boolean; readonly reason: string } // the agent's own command returns it
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    throw new Fault(unhealthy, cause.message, { cause })
  }
}

async function listenIn(file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined
  const { readConfigFile } = await import('../../kernel/platform/config-file.ts')
  const { metrics_listen: listen } = readConfigFile(file).table
  if (listen === undefined || typeof listen === 'string') return listen
  throw new Fault(wrongUsage, `${file}: metrics_listen must be HOST:PORT`)
}
