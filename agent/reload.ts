// A reload applies the changed configuration to a running agent. Connections of unaffected rules continue.
import { Fault, reasonOf } from '../kernel/base/errors.ts'
import type { Log } from '../kernel/base/log.ts'
import { type Components, openAgentCodec } from './components.ts'
import type { Link } from './link/link.ts'
import type { ConfiguredPlugins, PluginSet } from './plugins/plugin-set.ts'
import type { Guardrails } from './rules/guardrails.ts'

/** The part of the configuration that a running agent can change. */
export interface Reloadable extends ConfiguredPlugins {
  readonly guardrails: Guardrails
  readonly idleProbe?: boolean // default: false
}

interface Options {
  /** Reads the configuration again. Throws Fault if it is invalid. */
  readonly reread: () => Promise<Reloadable>
  readonly plugins: PluginSet
  readonly components: Pick<Components, 'objects' | 'fieldRules' | 'call' | 'setGuardrails' | 'setIdleProbe'>
  readonly link: Pick<Link, 'whileDown'>
  readonly log: Log
}

/** Returns a function that reloads. Reloads run one after another. A failed reload is logged and changes nothing. */
export function openReload({ reread, plugins, components, link, log }: Options): () => Promise<void> {
  const { objects, fieldRules, call, setGuardrails, setIdleProbe } = components
  let last = Promise.resolve()

  async function reload(): Promise<void> {
    const next = await reread()
    openAgentCodec(next.plugins) // throws for invalid messages before anything has changed
    // The stream is down during the change: no message meets half of it, and the next Hello has the new capabilities.
    const { ended, started } = await link.whileDown(() => apply(next))
    log.info('agent.reloaded', 'the configuration was read again', { ended, started })
  }

  async function apply(next: Reloadable) {
    const leaving = plugins.leavingFor(next)
    const kinds = new Set(leaving.flatMap(({ kinds = [] }) => kinds.map(({ kind }) => kind)))
    return objects.changeOwners(kinds, async () => {
      for (const { name } of leaving) fieldRules.release(name)
      const change = await plugins.change(next, call)
      setGuardrails(next.guardrails)
      setIdleProbe(next.idleProbe ?? false)
      return change
    })
  }

  const logRefused = (error: unknown): void =>
    log.error('agent.reload_refused', `nothing was changed: ${reasonOf(error)}`, {
      ...(!(error instanceof Fault) && error instanceof Error && { error: error.stack })
    })

  return () => {
    last = last.then(reload).catch(logRefused)
    return last
  }
}
