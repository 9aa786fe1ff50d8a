import type { AgentPlugin } from '../../../agent/plugin.ts'
import type { Plugin } from '../../plugin.ts'
import type { Builtin } from './load-plugins.ts'

/** The built-in plugins by name. */
export interface BuiltinPlugins {
  readonly server: Builtin<Plugin>
  readonly agent: Builtin<AgentPlugin>
}

let load: () => Promise<BuiltinPlugins> = () => {
  throw new TypeError('call offerBuiltinPlugins before a command about plugins runs')
}

/** Offers the built-in plugins to commands about plugins. These commands are in that list and cannot import it. */
export const offerBuiltinPlugins = (loader: typeof load): void => {
  load = loader
}

/** Loads the built-in plugins that the program offers. */
export const loadBuiltinPlugins = (): Promise<BuiltinPlugins> => load()
