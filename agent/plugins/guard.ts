// Contains the failures of a plugin's agent half: each is logged with the plugin's name, and harms nothing else.
import { withTimeout } from '../../kernel/base/attribution.ts'
import type { Clock } from '../../kernel/base/clock.ts'
import { Fault } from '../../kernel/base/errors.ts'
import type { Log } from '../../kernel/base/log.ts'
import { pluginRelease, startPlugin } from '../../kernel/base/plugin-lifecycle.ts'
import { type Handler, Refused } from '../../kernel/wire/message.ts'
import { objectHandlers } from '../objects/object-handlers.ts'
import type { AgentCall, AgentField, AgentObjectKind, AgentPlugin } from '../plugin.ts'

const kindSecs = 10
const handlerSecs = 15 // longer than `kindSecs`: a handler may apply objects

/**
 * Wraps every function of a plugin. Where a caller waits for a result, an error becomes a refusal; elsewhere it is only
 * logged.
 */
export const guardPlugin = (plugin: AgentPlugin, log: Log): AgentPlugin => new PluginGuard(plugin, log).wrap()

class PluginGuard {
  readonly #plugin: AgentPlugin
  readonly #log: Log
  /** The guarded call for each of the agent's: always the same object, because plugins use it as a key. */
  readonly #calls = new WeakMap<AgentCall, AgentCall>()

  constructor(plugin: AgentPlugin, log: Log) {
    this.#plugin = plugin
    this.#log = log
  }

  wrap(): AgentPlugin {
    const plugin = this.#plugin
    const { name, handlers = [], fields = [], kinds = [] } = plugin
    return {
      ...plugin,
      handlers: [...handlers, ...kinds.flatMap(objectHandlers)].map(handler => this.#wrapHandler(handler)),
      fields: fields.map(field => this.#wrapField(field)),
      kinds: kinds.map(kind => this.#wrapKind(kind)),
      meters: rule => this.#orRefuse('meters', () => plugin.meters?.(rule) ?? []),
      event: (event, call) => {
        if (plugin.event) void this.#orLog('event', () => plugin.event?.(event, this.#guardCall(call)))
      },
      connected: (stream, call) =>
        void this.#orLog('connected', () => plugin.connected?.(stream, this.#guardCall(call))),
      stopping: call => this.#orLog('stopping', () => plugin.stopping?.(this.#guardCall(call))),
      start: ({ call, defer }) =>
        startPlugin(name, async () =>
          plugin.start?.({
            call: this.#guardCall(call),
            defer: release => defer(() => this.#orLog('release', pluginRelease(name, release)))
          })
        )
    }
  }

  #wrapHandler({ name, run }: Handler<AgentCall>): Handler<AgentCall> {
    return {
      name,
      run: (call, ...message) =>
        this.#orRefuseWithin(handlerSecs, name, () => run(this.#guardCall(call), ...message))
    }
  }

  #wrapField(field: AgentField): AgentField {
    return {
      ...field,
      plan: (value, draft) => this.#orRefuse(`plan of ${field.key}`, () => field.plan?.(value, draft)),
      setMeters: (value, rule, meters) => {
        const hook = `setMeters of ${field.key}`
        const work = (): void => field.setMeters?.(value, rule, meters)
        if (value === null) void this.#orLog(hook, work)
        else this.#orRefuse(hook, work) // a rule must not open without its limits
      }
    }
  }

  #wrapKind({ applyOrder, ...kind }: AgentObjectKind): AgentObjectKind {
    return {
      ...kind,
      apply: (id, object, call) =>
        this.#orRefuseWithin(kindSecs, `apply of ${kind.kind}`, () =>
          kind.apply(id, object, this.#guardCall(call))
        ),
      withdraw: async (id, removal, call) => {
        const { done } = await this.#orRefuseWithin(kindSecs, `withdraw of ${kind.kind}`, () =>
          kind.withdraw(id, removal, this.#guardCall(call))
        )
        return { done: this.#orLog(`drain of ${kind.kind}`, () => done) }
      },
      ...(applyOrder && {
        applyOrder: (object, call) =>
          this.#orRefuse(`applyOrder of ${kind.kind}`, () => applyOrder(object, this.#guardCall(call)))
      })
    }
  }

  #guardCall(call: AgentCall): AgentCall {
    const guarded = this.#calls.get(call) ?? { ...call, clock: this.#guardClock(call.clock) }
    this.#calls.set(call, guarded)
    return guarded
  }

  #guardClock(clock: Clock): Clock {
    return {
      ...clock,
      after: (ms, work) => clock.after(ms, () => void this.#orLog('clock.after', work)),
      every: (ms, work) => clock.every(ms, () => void this.#orLog('clock.every', work))
    }
  }

  #orRefuse<T>(hook: string, work: () => T): T {
    try {
      return work()
    } catch (error) {
      throw this.#refusalOf(hook, error)
    }
  }

  async #orRefuseWithin<T>(secs: number, hook: string, work: () => Promise<T>): Promise<T> {
    try {
      return await withTimeout(secs, hook, work)
    } catch (error) {
      throw this.#refusalOf(hook, error)
    }
  }

  /** Starts the work at once and never rejects. */
  async #orLog(hook: string, work: () => unknown): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.#logFailure(hook, error)
    }
  }

  #refusalOf(hook: string, error: unknown): Refused | Fault {
    if (error instanceof Refused || error instanceof Fault) return error
    this.#logFailure(hook, error)
    const message = `plugin ${this.#plugin.name} failed at ${hook}; the agent's log says why`
    return new Refused('internal', message, { cause: error })
  }

  #logFailure(hook: string, error: unknown): void {
    const plugin = this.#plugin.name
    const stack = error instanceof Error ? error.stack : null
    if (error instanceof Refused && error.code === 'wire.closed')
      this.#log.debug('plugin.unheard', error.message, { plugin, hook })
    else this.#log.error('plugin.failed', String(error), { plugin, hook, error: stack })
  }
}
