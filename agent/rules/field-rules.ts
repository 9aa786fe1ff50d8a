// The rules of this agent as their fields see them: opened, changed, gone.
import type { TSchema } from 'typebox'
import { logFailure, loggedOnce } from '../../config/external/containment.ts'
import type { Log } from '../../kernel/base/log.ts'
import type { Release } from '../../kernel/base/releases.ts'
import type { Codec } from '../../kernel/wire/message.ts'
import type { AgentCall, AgentField, AgentPlugin } from '../plugin.ts'
import type { Time } from './agent-time.ts'
import type { Closings } from './closings.ts'
import type { Closing, FieldRef, FieldRule, RuleSpec } from './contract.ts'

interface Options {
  readonly plugins: readonly AgentPlugin[]
  readonly codec: Codec
  readonly closings: Pick<Closings, 'set'>
  readonly time: Pick<Time, 'at'>
  readonly call: () => AgentCall
  readonly log: Log
}

interface OwnedField {
  readonly plugin: string
  readonly field: AgentField
}

export class FieldRules {
  readonly #options: Options
  readonly #fields: ReadonlyMap<string, OwnedField>
  readonly #rules = new Map<string, Map<string, LiveRule>>() // by rule id and field key

  constructor(options: Options) {
    this.#options = options
    this.#fields = new Map(
      options.plugins.flatMap(({ name: plugin, fields = [] }) =>
        fields.map(field => [field.key, { plugin, field }] as const)
      )
    )
  }

  /** The rule comes into force, or a new revision of it; `meter` is the one that no other rule passes. */
  enter(spec: RuleSpec, meter: string): void {
    const { codec, call } = this.#options
    const live = this.#rules.get(spec.id) ?? new Map<string, LiveRule>()
    this.#rules.set(spec.id, live)
    for (const [key, rule] of live) {
      if (key in spec.fields) continue
      rule.open()
      this.#leave(live, key)
    }
    for (const [key, { field, plugin }] of this.#fields) {
      const bytes = spec.fields[key]
      if (!bytes) continue
      const value = codec.decode(field.message, bytes)
      const known = live.get(key)
      const rule = known ?? new LiveRule({ ...this.#options, plugin, key, meter })
      if (!known) rule.open() // of an earlier life, whose connections still drain
      live.set(key, rule)
      rule.renew(spec, value)
      if (known) field.changed?.(rule, call())
      else field.opened?.(rule, call())
    }
  }

  /** The rule has left the agent. */
  leave(ruleId: string): void {
    const live = this.#rules.get(ruleId)
    this.#rules.delete(ruleId)
    for (const key of live?.keys() ?? []) if (live) this.#leave(live, key)
  }

  /** The time has gone back: what fields have decided by it may be wrong. */
  reconsider(): void {
    for (const live of this.#rules.values())
      for (const [key, rule] of live) {
        const owned = this.#fields.get(key)
        if (!owned) continue
        rule.renew(rule.spec, rule.value)
        try {
          owned.field.changed?.(rule, this.#options.call())
        } catch (error) {
          logFailure(this.#options.log, { plugin: owned.plugin, hook: `changed of ${key}` }, error)
        }
      }
  }

  having<B extends TSchema>({ key }: FieldRef<B>): readonly FieldRule<B>[] {
    return [...this.#rules.values()].flatMap(live => live.get(key) ?? []) as readonly FieldRule<B>[]
  }

  #leave(live: Map<string, LiveRule>, key: string): void {
    const rule = live.get(key)
    live.delete(key)
    rule?.end()
    if (rule) this.#fields.get(key)?.field.gone?.(rule, this.#options.call())
  }
}

interface LiveOptions extends Pick<Options, 'closings' | 'time' | 'log'> {
  readonly plugin: string
  readonly key: string
  readonly meter: string
}

class LiveRule implements FieldRule {
  spec!: RuleSpec
  value: unknown
  readonly #options: LiveOptions
  readonly #timers = new Set<Release>() // those that have not fired
  #hasEnded = false

  constructor(options: LiveOptions) {
    this.#options = options
  }

  renew(spec: RuleSpec, value: unknown): void {
    this.#cancelTimers()
    this.spec = spec
    this.value = value
  }

  /** What a plugin still does with the rule has no effect. */
  end(): void {
    this.#hasEnded = true
    this.#cancelTimers()
  }

  close = (closing: Closing): void => this.#set(closing)
  open = (): void => this.#set(null)

  at = (ms: number, work: () => unknown): Release => {
    if (this.#hasEnded) return () => {}
    const { plugin, key, time, log } = this.#options
    const run = loggedOnce(log, { plugin, hook: `at of ${key}` }, work)
    const cancel = time.at(ms, async () => {
      await run()
      this.#timers.delete(release)
    })
    const release = (): void => {
      void cancel()
      this.#timers.delete(release)
    }
    this.#timers.add(release)
    return release
  }

  #cancelTimers(): void {
    for (const release of this.#timers) void release()
  }

  #set(closing: Closing | null): void {
    const { closings, meter, key } = this.#options
    if (!this.#hasEnded) closings.set(meter, key, closing)
  }
}
