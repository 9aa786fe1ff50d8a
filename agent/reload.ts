// A reload applies the changed configuration to a running agent. Connections of unaffected rules continue.
import { Fault, reasonOf } from '../kernel/base/errors.ts'
import type { Log } from '../kernel/base/log.ts'
import { type Components, openAgentCodec } from './components.ts'
import type { AgentPhase } from './plugin.ts'
import type { ConfiguredPlugins, PluginSet } from './plugins/plugin-set.ts'
import type { ExitKeys } from './rules/exits.ts'
import type { Guardrails } from './rules/guardrails.ts'
import type { ServerConnection } from './stream/server-connection.ts'

/** The part of the configuration that a running agent can change. */
export interface Reloadable extends ConfiguredPlugins {
  readonly guardrails: Guardrails
  readonly idleProbe?: boolean // default: false
  readonly exits?: ExitKeys // default: all are allowed
}

interface Options {
  /** Reads the configuration again. Throws Fault if it is invalid. */
  readonly reread: () => Promise<Reloadable>
  readonly plugins: PluginSet
  readonly components: Pick<Components, 'objects' | 'fieldRules' | 'call' | 'setLimits'>
  readonly connection: Pick<ServerConnection, 'whileDown'>
  readonly enter: (phase: AgentPhase) => void
  readonly log: Log
}

/** Returns a function that reloads. Reloads run one after another. A failed reload is logged and changes nothing. */
export function openReload({
  reread,
  plugins,
  components,
  connection,
  enter,
  log
}: Options): () => Promise<void> {
  const { objects, fieldRules, call, setLimits } = components
  let last = Promise.resolve()

  async function reload(): Promise<void> {
    enter('reloading')
    const next = await reread()
    openAgentCodec(next.plugins) // throws for invalid messages before anything has changed
    // The stream is down during the change: no message meets half of it, and the next Hello has the new capabilities.
    const { ended, started } = await connection.whileDown(() => apply(next))
    log.info('agent.reloaded', 'the configuration was read again', { ended, started })
  }

  async function apply(next: Reloadable) {
    const leaving = plugins.leavingFor(next)
    const kinds = new Set(leaving.flatMap(({ kinds = [] }) => kinds.map(({ kind }) => kind)))
    return objects.changeOwners(kinds, async () => {
      for (const { name } of leaving) fieldRules.release(name)
      const change = await plugins.change(next, call)
      setLimits(next)
      return change
    })
  }

  const logRefused = (error: unknown): void =>
    log.error('agent.reload_refused', `nothing was changed: ${reasonOf(error)}`, {
      ...(!(error instanceof Fault) && error instanceof Error && { error: error.stack })
    })

  return () => {
    last = last
      .then(reload)
      .catch(logRefused)
      .then(() => enter('up'))
    return last
  }
}
