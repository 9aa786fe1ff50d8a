// The commands that are installed. An index, made from the manifests, says what each command needs, so that only the
// module of the chosen one is loaded. Manifests are loaded for commands that work on the server itself, and where the
// configuration adds plugins that the index does not know.

import { internal } from '../../../kernel/base/errors.ts'
import { Type } from '../../../kernel/cli/args.ts'
import type { Command } from '../../../kernel/cli/command.ts'
import type { ConfigFile } from '../../../kernel/platform/config-file.ts'
import type { Plugin } from '../../../kernel/plugin.ts'
import { type Fill, type Filled, ownerOf, type Slot, slotReader } from '../../../kernel/slot.ts'

/** A plugin's additions to the command line, which its manifest also lists. */
export interface CommandModule {
  readonly commands?: readonly Command[]
  readonly fills?: readonly Fill[] // of slots that commands read
  /** Returns commands of the same group that a configuration file adds, and the index does not know. */
  readonly installed?: (file: string | null) => Promise<readonly Command[]>
}

/** By plugin; 'agent' has the commands of the agent. */
export type CommandModules = Readonly<Record<string, () => Promise<CommandModule>>>

/** A command as help and completion show it. */
export type Described = Pick<
  Command,
  'name' | 'aliases' | 'summary' | 'examples' | 'args' | 'positional' | 'needs'
>

interface IndexedCommand extends Described {
  readonly by: string
  /** Plugins that provide values for it, in dependency order; null: some provide them only in manifests. */
  readonly reads: readonly string[] | null
  readonly isExtended: boolean // `args` has arguments of other plugins
}

export interface CommandIndex {
  readonly plugins: readonly string[]
  readonly commands: readonly IndexedCommand[]
  readonly exits: Readonly<Record<string, number>> // by error code
}

/** The plugins with their manifests: the built-in ones that are enabled, and those that the configuration adds. */
export interface Manifests {
  readonly plugins: readonly Plugin[]
  readonly sections: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly specifiers: Readonly<Record<string, string>> // what the configuration calls each
  readonly commands: readonly LoadedCommand[]
}

export interface LoadedCommand {
  readonly command: Command
  readonly filled: <T>(slot: Slot<T>) => readonly Filled<T>[]
}

interface Options {
  readonly index: CommandIndex
  readonly modules: CommandModules
  readonly loadManifests: () => Promise<Manifests>
  readonly file: ConfigFile | null
  readonly agentFile: string | null // the configuration of the agent, for its commands
}

export class InstalledCommands {
  readonly #options: Options
  readonly #enabled: (plugin: string) => boolean
  readonly #isKnown: boolean // the configuration is plain, and adds no plugin
  #manifests: Promise<Manifests> | undefined
  #agentCommands: Promise<readonly Command[]> | undefined

  constructor(options: Options) {
    this.#options = options
    const sections = Object.entries(options.file?.table['plugins'] ?? {})
    this.#enabled = plugin =>
      Object.hasOwn(options.modules, plugin) &&
      !sections.some(([name, section]) => name === plugin && section?.enabled === false)
    this.#isKnown = sections.every(
      ([name, section]) => options.index.plugins.includes(name) && typeof section === 'object'
    )
  }

  /** Loads all manifests, once. */
  manifests(): Promise<Manifests> {
    this.#manifests ??= this.#options.loadManifests()
    return this.#manifests
  }

  /** Returns the commands that these words may mean, as far as help and completion need them. */
  async described(words: readonly string[]): Promise<readonly Described[]> {
    const all = this.#options.index.commands.filter(({ by }) => this.#enabled(by))
    const chosen = all.find(({ name }) => name === words[0] || name === words.join(' '))
    if (words[0] === 'agent' && !chosen) {
      const ofAgent = all.filter(({ name }) => name.startsWith('agent '))
      return [...ofAgent, ...(await this.#installedForAgent())]
    }
    if (!this.#isKnown && !(chosen?.needs === 'api' && chosen.reads?.length === 0))
      return (await this.manifests()).commands.map(({ command }) => command)
    const isChanged = ({ isExtended, reads }: IndexedCommand): boolean =>
      isExtended && reads?.every(this.#enabled) !== true
    return Promise.all(
      all.map(async entry => (isChanged(entry) ? (await this.load(entry.name)).command : entry))
    )
  }

  /** Returns the commands that agent halves add; loads them once. */
  #installedForAgent(): Promise<readonly Command[]> {
    const { modules, agentFile } = this.#options
    const load = async () => (await modules['agent']?.())?.installed?.(agentFile) ?? []
    this.#agentCommands ??= load()
    return this.#agentCommands
  }

  /** Loads the command's module, and those of the plugins that it reads. */
  async load(name: string): Promise<LoadedCommand> {
    const entry = this.#options.index.commands.find(entry => entry.name === name)
    const added = entry ? undefined : (await this.#agentCommands)?.find(command => command.name === name)
    if (added) return { command: added, filled: () => [] }
    if (!entry?.reads || !(this.#isKnown || entry.reads.length === 0)) {
      const found = (await this.manifests()).commands.find(({ command }) => command.name === name)
      if (!found) throw new TypeError(`no plugin has the command ${name}`)
      return found
    }
    const modules = await Promise.all(
      [entry.by, ...entry.reads.filter(this.#enabled)].map(async plugin => ({
        name: plugin,
        ...(await this.#options.modules[plugin]?.())
      }))
    )
    const command = modules[0]?.commands?.find(command => command.name === name)
    if (!command)
      throw new TypeError(`the index has the command ${name}, but ${entry.by} does not: run npm run index`)
    const filled = <T>(slot: Slot<T>): readonly Filled<T>[] => {
      if (!command.reads?.includes(slot))
        throw new TypeError(`${name} reads ${slot.id}, which its \`reads\` lacks`)
      return filledBare(slot, modules.slice(1))
    }
    return { command: withExtraArgs(command, filled), filled }
  }

  /** Returns the exit code of an error of the server. */
  async exitOf(code: string): Promise<number> {
    const known = this.#options.index.exits[code]
    if (known !== undefined || this.#isKnown) return known ?? internal.exit
    const codes = (await this.manifests()).plugins.flatMap(({ codes }) => codes ?? [])
    return codes.find(row => row.code === code)?.exit ?? internal.exit
  }
}

/** Reads a slot of plugins in dependency order, as commands do: values of `fillWith` get services that fail when used. */
export const filledBare = <T>(
  slot: Slot<T>,
  plugins: readonly { readonly name: string; readonly fills?: readonly Fill[] }[]
): readonly Filled<T>[] =>
  slotReader(ownerOf(slot), plugins, name => {
    return new Proxy({}, { get: (_, service) => absent(`${name} uses ${String(service)} in ${slot.id}`) })
  })(slot)

function absent(use: string): object {
  const fail = (): never => {
    throw new TypeError(
      `${use}, which a command reads without services: use it in a function that only the server calls`
    )
  }
  return new Proxy(fail, { get: fail })
}

export const withExtraArgs = (command: Command, filled: LoadedCommand['filled']): Command => {
  const more = command.extraArgs?.(filled)
  return more ? { ...command, args: Type.Object({ ...command.args.properties, ...more }) } : command
}
