// The installed commands. An index, generated from the manifests, lists what each command needs, so that only the module of
// the chosen command is loaded. Manifests are loaded for commands that work on the server's host, and if the
// configuration adds plugins that are not in the index.

import { internal } from '../../../kernel/base/errors.ts'
import { Type } from '../../../kernel/cli/args.ts'
import type { Command } from '../../../kernel/cli/command.ts'
import type { ConfigFile } from '../../../kernel/platform/config-file.ts'
import type { Plugin } from '../../../kernel/plugin.ts'
import { type Fill, type Filled, ownerOf, type Slot, slotReader } from '../../../kernel/slot.ts'

/** A plugin's additions to the command line. Its manifest lists them, too. */
export interface CommandModule {
  readonly commands?: readonly Command[]
  readonly fills?: readonly Fill[] // for slots that commands read
  /** Returns commands of the same group that a configuration file adds and the index lacks. */
  readonly installed?: (file: string | null) => Promise<readonly Command[]>
}

/** By plugin name; 'agent' stands for the agent's commands. */
export type CommandModules = Readonly<Record<string, () => Promise<CommandModule>>>

/** The description of a command, for help and completion. */
export type Described = Pick<
  Command,
  'name' | 'aliases' | 'summary' | 'examples' | 'args' | 'positional' | 'needs'
>

interface IndexedCommand extends Described {
  readonly by: string
  /** Plugins that fill the slots it reads, in dependency order. Null: some fill them only in their manifests. Absent: it reads none. */
  readonly reads?: readonly string[] | null
  readonly isExtended: boolean // `args` has arguments of other plugins
}

export interface CommandIndex {
  readonly plugins: readonly string[]
  readonly commands: readonly IndexedCommand[]
  readonly exits: Readonly<Record<string, number>> // by error code
}

/** The manifests of the enabled built-in plugins and of the plugins that the configuration adds. */
export interface Manifests {
  readonly plugins: readonly Plugin[]
  readonly sections: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly specifiers: Readonly<Record<string, string>> // the configuration's key for each plugin
  readonly commands: readonly LoadedCommand[]
  readonly firstTrusted: readonly string[] // see LoadedPlugins
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
  readonly #isKnown: boolean // the configuration adds no plugin to the index
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

  /** Loads all manifests, at most once. */
  manifests(): Promise<Manifests> {
    this.#manifests ??= this.#options.loadManifests()
    return this.#manifests
  }

  /** Returns descriptions of the commands that these words, the first of the command line, may name. */
  async described(words: readonly string[]): Promise<readonly Described[]> {
    const all = this.#options.index.commands.filter(({ by }) => this.#enabled(by))
    const chosen = all.find(({ name }) => `${words.join(' ')} `.startsWith(`${name} `))
    if (words[0] === 'agent' && !chosen) {
      const builtin = all.filter(({ name }) => name.startsWith('agent '))
      return [...builtin, ...(await this.#installedForAgent())]
    }
    if (!this.#isKnown && !(chosen?.needs === 'api' && chosen.reads === undefined))
      return (await this.manifests()).commands.map(({ command }) => command)
    const isChanged = ({ isExtended, reads }: IndexedCommand): boolean =>
      isExtended && reads?.every(this.#enabled) !== true
    return Promise.all(
      all.map(async entry => (isChanged(entry) ? (await this.load(entry.name)).command : entry))
    )
  }

  /** Returns the commands that agent halves of plugins add. Loads them at most once. */
  #installedForAgent(): Promise<readonly Command[]> {
    const { modules, agentFile } = this.#options
    const load = async () => (await modules['agent']?.())?.installed?.(agentFile) ?? []
    this.#agentCommands ??= load()
    return this.#agentCommands
  }

  /** Loads the module of a command, and those of the plugins that fill its slots. */
  async load(name: string): Promise<LoadedCommand> {
    const entry = this.#options.index.commands.find(entry => entry.name === name)
    const added = entry ? undefined : (await this.#agentCommands)?.find(command => command.name === name)
    if (added) return { command: added, filled: () => [] }
    const { reads = [] } = entry ?? {}
    if (!entry || !reads || !(this.#isKnown || entry.reads === undefined)) {
      const found = (await this.manifests()).commands.find(({ command }) => command.name === name)
      if (!found) throw new TypeError(`no plugin has the command ${name}`)
      return found
    }
    const modules = await Promise.all(
      [entry.by, ...reads.filter(this.#enabled)].map(async plugin => ({
        name: plugin,
        ...(await this.#options.modules[plugin]?.())
      }))
    )
    const command = modules[0]?.commands?.find(command => command.name === name)
    if (!command)
      throw new TypeError(
        `the index lists the command ${name}, but plugin ${entry.by} lacks it: run npm run index`
      )
    const filled = <T>(slot: Slot<T>): readonly Filled<T>[] => {
      if (!command.reads?.includes(slot)) throw new TypeError(`${name} reads ${slot.id}: add it to \`reads\``)
      return filledBare(slot, modules.slice(1))
    }
    return { command: withExtraArgs(command, filled), filled }
  }

  /** Returns the exit code for an error code of the server. */
  async exitOf(code: string): Promise<number> {
    const known = this.#options.index.exits[code]
    if (known !== undefined || this.#isKnown) return known ?? internal.exit
    const codes = (await this.manifests()).plugins.flatMap(({ codes }) => codes ?? [])
    return codes.find(row => row.code === code)?.exit ?? internal.exit
  }
}

/** Reads a slot without services, as commands do. Services passed to a `fillWith` value throw when used. */
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
      `${use}, but a command reads the slot without services: use them only in functions that the server calls`
    )
  }
  return new Proxy(fail, { get: fail })
}

export const withExtraArgs = (command: Command, filled: LoadedCommand['filled']): Command => {
  const more = command.extraArgs?.(filled)
  return more ? { ...command, args: Type.Object({ ...command.args.properties, ...more }) } : command
}
