// Calls the hooks of fields for the rules of this agent: opened, changed, gone.
import type { TSchema } from 'typebox'
import type { Log } from '../../kernel/base/log.ts'
import type { Release } from '../../kernel/base/releases.ts'
import { logFailure, loggedOnce } from '../../kernel/platform/plugins/containment.ts'
import type { AgentCall, AgentField, AgentPlugin } from '../plugin.ts'
import type { AgentTime, Closing, FieldRef, FieldRule, RuleSpec } from './contract.ts'
import type { RuleClosings } from './rule-closings.ts'

interface Options {
  readonly plugins: () => readonly AgentPlugin[]
  readonly closings: Pick<RuleClosings, 'set'>
  readonly time: Pick<AgentTime, 'at'>
  readonly call: () => AgentCall
  readonly log: Log
}

interface OwnedField {
  readonly plugin: string
  readonly field: AgentField
}

/** A rule that has the field, with the field that was loaded when the rule came into force. */
interface Entry extends OwnedField {
  readonly rule: LiveRule
}

export class FieldRules {
  readonly #options: Options
  readonly #rules = new Map<string, Map<string, Entry>>() // by rule id and field key

  constructor(options: Options) {
    this.#options = options
  }

  /** Called when a rule or a new revision comes into force. `meter` is the meter that only this rule passes. */
  enter(spec: RuleSpec, meter: string): void {
    const live = this.#rules.get(spec.id) ?? new Map<string, Entry>()
    this.#rules.set(spec.id, live)
    for (const [key, { rule }] of live) {
      if (key in spec.fields) continue
      rule.open()
      this.#leave(live, key)
    }
    for (const { name: plugin, fields = [] } of this.#options.plugins())
      for (const field of fields)
        if (spec.fields[field.key]) this.#enter(live, { plugin, field }, spec, meter)
  }

  #enter(live: Map<string, Entry>, owned: OwnedField, spec: RuleSpec, meter: string): void {
    const { plugin, field } = owned
    const { key, message } = field
    const call = this.#options.call()
    const known = live.get(key)
    const isSame = known?.field === field
    const rule = isSame ? known.rule : new LiveRule({ ...this.#options, plugin, key, meter })
    if (!isSame) known?.rule.end()
    live.set(key, { ...owned, rule })
    rule.renew(spec, call.codec.decode(message, spec.fields[key] ?? new Uint8Array()))
    if (isSame) field.changed?.(rule, call)
    else field.opened?.(rule, call)
    // Lifts a closing of an earlier opening of the rule or of an earlier plugin only now: no caller slips in between.
    if (!isSame && !rule.hasDecided) rule.open()
  }

  /** Called when the rule was removed. */
  leave(ruleId: string): void {
    const live = this.#rules.get(ruleId)
    this.#rules.delete(ruleId)
    for (const key of live?.keys() ?? []) if (live) this.#leave(live, key)
  }

  /** Called when the time has gone back: decisions of fields may be wrong. */
  reconsider(): void {
    for (const live of this.#rules.values())
      for (const [key, { rule, plugin, field }] of live) {
        rule.renew(rule.spec, rule.value)
        try {
          field.changed?.(rule, this.#options.call())
        } catch (error) {
          logFailure(this.#options.log, { plugin, hook: `changed of ${key}` }, error)
        }
      }
  }

  /** Detaches the plugin from its rules without calling `gone`. Its closings stay until the rules enter again. */
  release(plugin: string): void {
    for (const live of this.#rules.values())
      for (const entry of live.values()) if (entry.plugin === plugin) entry.rule.end()
  }

  having<B extends TSchema>({ key }: FieldRef<B>): readonly FieldRule<B>[] {
    return [...this.#rules.values()].flatMap(live => live.get(key)?.rule ?? []) as readonly FieldRule<B>[]
  }

  #leave(live: Map<string, Entry>, key: string): void {
    const entry = live.get(key)
    live.delete(key)
    if (!entry || entry.rule.hasEnded) return
    entry.rule.end()
    entry.field.gone?.(entry.rule, this.#options.call())
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
  #hasDecided = false

  constructor(options: LiveOptions) {
    this.#options = options
  }

  renew(spec: RuleSpec, value: unknown): void {
    this.#cancelTimers()
    this.spec = spec
    this.value = value
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** True once the field has closed or opened the rule. */
  get hasDecided(): boolean {
    return this.#hasDecided
  }

  /** Makes later calls of the plugin have no effect. */
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
    this.#hasDecided = true
    if (!this.#hasEnded) closings.set(meter, key, closing)
  }
}
