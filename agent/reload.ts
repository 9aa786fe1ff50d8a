// A reload takes over what has changed in the configuration of a running agent. Connections of other rules go on.
import { Fault, reasonOf } from '../kernel/base/errors.ts'
import type { Log } from '../kernel/base/log.ts'
import { type Components, codecOf } from './components.ts'
import type { Link } from './link/link.ts'
import type { ConfiguredPlugins, PluginSet } from './plugins/plugin-set.ts'
import type { Guardrails } from './rules/guardrails.ts'

/** What of the configuration a running agent takes over. */
export interface Reloadable extends ConfiguredPlugins {
  readonly guardrails: Guardrails
}

interface Options {
  /** Reads the configuration again. Throws Fault where it is not valid. */
  readonly reread: () => Promise<Reloadable>
  readonly plugins: PluginSet
  readonly components: Pick<Components, 'objects' | 'fieldRules' | 'call' | 'setGuardrails'>
  readonly link: Pick<Link, 'whileDown'>
  readonly log: Log
}

/** Returns the function that reloads. Reloads run one after the other; one that fails changes nothing and is logged. */
export function openReload({ reread, plugins, components, link, log }: Options): () => Promise<void> {
  const { objects, fieldRules, call, setGuardrails } = components
  let last = Promise.resolve()

  async function reload(): Promise<void> {
    const next = await reread()
    codecOf(next.plugins) // throws for messages that do not fit, while all is as it was
    // The stream is down meanwhile: no message meets half of a change, and a new one announces the new capabilities.
    const { ended, started } = await link.whileDown(() => takeOver(next))
    log.info('agent.reloaded', 'the configuration was read again', { ended, started })
  }

  async function takeOver(next: Reloadable) {
    const leaving = plugins.leavingFor(next)
    const kinds = new Set(leaving.flatMap(({ kinds = [] }) => kinds.map(({ kind }) => kind)))
    return objects.changeOwners(kinds, async () => {
      for (const { name } of leaving) fieldRules.release(name)
      const change = await plugins.change(next, call)
      setGuardrails(next.guardrails)
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
