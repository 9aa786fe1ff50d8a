// The plugins of a running agent. A reload replaces changed plugins and does not affect the others.
import { isDeepStrictEqual } from 'node:util'
import type { Log } from '../../kernel/base/log.ts'
import { Releases } from '../../kernel/base/releases.ts'
import { logFailure } from '../../kernel/platform/plugins/containment.ts'
import type { AgentCall, AgentPlugin, PluginExplainer, PluginMetrics } from '../plugin.ts'
import { guardPlugin } from './guard-plugin.ts'

/** Plugins, and their configurations by name. */
export interface ConfiguredPlugins {
  readonly plugins: readonly AgentPlugin[]
  readonly configs: Readonly<Record<string, unknown>> // validated
}

export interface PluginChange {
  readonly ended: readonly string[]
  readonly started: readonly string[]
}

interface Member {
  readonly plugin: AgentPlugin
  readonly config: unknown
  readonly guarded: AgentPlugin
  readonly releases: Releases
}

export class PluginSet {
  readonly #log: Log
  #members: readonly Member[] = []
  #plugins: readonly AgentPlugin[] = []

  constructor(given: ConfiguredPlugins, log: Log) {
    this.#log = log
    this.#set(this.#membersOf(given))
  }

  /** The guarded plugins. A change replaces the list. */
  get all(): readonly AgentPlugin[] {
    return this.#plugins
  }

  /** Returns a getter of `make(plugins)`. The value is cached until the plugins change. */
  derived<T>(make: (plugins: readonly AgentPlugin[]) => T): () => T {
    let madeOf = this.#plugins
    let made = make(madeOf)
    return () => {
      if (madeOf !== this.#plugins) made = make(this.#plugins)
      madeOf = this.#plugins
      return made
    }
  }

  /** Returns the plugins that a change to `given` would end or replace. */
  leavingFor(given: ConfiguredPlugins): readonly AgentPlugin[] {
    const next = this.#membersOf(given)
    return this.#members.flatMap(member => (next.includes(member) ? [] : [member.guarded]))
  }

  async start(call: AgentCall): Promise<void> {
    for (const member of this.#members) await this.#start(member, call)
  }

  /** Ends the plugins that are not in `given`, and starts the new ones. Undoes the change if that fails. */
  async change(given: ConfiguredPlugins, call: AgentCall): Promise<PluginChange> {
    const before = this.#members
    const next = this.#membersOf(given)
    const leaving = before.filter(member => !next.includes(member))
    const coming = next.filter(member => !before.includes(member))
    await release(leaving)
    this.#set(next)
    try {
      for (const member of coming) await this.#start(member, call)
    } catch (error) {
      await release(coming)
      this.#set(before)
      for (const member of leaving)
        await this.#start(member, call).catch(failure =>
          logFailure(this.#log, { plugin: member.plugin.name, hook: 'start' }, failure)
        )
      throw error
    }
    return { ended: leaving.map(nameOf), started: coming.map(nameOf) }
  }

  /** Releases the resources of the plugins, last first. */
  stop(): Promise<void> {
    return release(this.#members)
  }

  #membersOf({ plugins, configs }: ConfiguredPlugins): Member[] {
    return plugins.map(plugin => {
      const config = configs[plugin.name] ?? {}
      const isUnchanged = (member: Member): boolean =>
        member.plugin === plugin && isDeepStrictEqual(member.config, config)
      const guarded = guardPlugin(plugin, this.#log, config)
      return this.#members.find(isUnchanged) ?? { plugin, config, guarded, releases: new Releases() }
    })
  }

  #set(members: readonly Member[]): void {
    this.#members = members
    this.#plugins = members.map(({ guarded }) => guarded)
  }

  async #start({ guarded, releases }: Member, call: AgentCall): Promise<void> {
    const metrics = (): PluginMetrics[] =>
      this.#plugins.flatMap(({ name: by, metrics }) =>
        metrics ? [{ by, value: async () => metrics(call) }] : []
      )
    const explainers = (): PluginExplainer[] =>
      this.#plugins.flatMap(({ name: by, explain }) =>
        explain ? [{ by, explain: asked => explain(asked, call) }] : []
      )
    await guarded.start?.({
      call,
      defer: releases.defer,
      get metrics() {
        return metrics()
      },
      get explainers() {
        return explainers()
      }
    })
  }
}

const nameOf = ({ plugin: { name } }: Member): string => name

async function release(members: readonly Member[]): Promise<void> {
  for (const { releases } of members.toReversed()) await releases.run()
}
