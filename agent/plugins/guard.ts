// A plugin that fails is named in the log; it harms no other plugin, and ends nothing that is forwarded.

import { withTimeout } from '../../kernel/base/attribution.ts'
import type { Clock } from '../../kernel/base/clock.ts'
import { Fault } from '../../kernel/base/errors.ts'
import type { Log } from '../../kernel/base/log.ts'
import { pluginRelease, startPlugin } from '../../kernel/base/plugin-lifecycle.ts'
import { Refused } from '../../kernel/wire/message.ts'
import type { AgentCall, AgentField, AgentObjectKind, AgentPlugin } from '../plugin.ts'

const kindSecs = 10
const handlerSecs = 15 // it may put objects of a kind in force

/** The same plugin: where somebody waits for its answer what it throws is a refusal, else it is only told. */
export function guardPlugin(plugin: AgentPlugin, log: Log): AgentPlugin {
  const { name } = plugin
  const calls = new WeakMap<AgentCall, AgentCall>() // one for one: plugins may remember by it

  function tell(hook: string, error: unknown): void {
    const stack = error instanceof Error ? error.stack : null
    if (error instanceof Refused && error.code === 'wire.closed')
      log.debug('plugin.unheard', error.message, { plugin: name, hook })
    else log.error('plugin.failed', String(error), { plugin: name, hook, error: stack })
  }

  function refuse(hook: string, error: unknown): never {
    if (error instanceof Refused || error instanceof Fault) throw error
    tell(hook, error)
    const message = `plugin ${name} failed at ${hook}; the agent's log says why`
    throw new Refused('internal', message, { cause: error })
  }

  function asked<T>(hook: string, work: () => T): T {
    try {
      return work()
    } catch (error) {
      return refuse(hook, error)
    }
  }

  async function awaited<T>(hook: string, secs: number, work: () => Promise<T>): Promise<T> {
    try {
      return await withTimeout(secs, hook, work)
    } catch (error) {
      return refuse(hook, error)
    }
  }

  /** Begins at once; what fails later is told, too. */
  async function told(hook: string, work: () => unknown): Promise<void> {
    try {
      await work()
    } catch (error) {
      tell(hook, error)
    }
  }

  const timed = (clock: Clock): Clock => ({
    ...clock,
    after: (ms, work) => clock.after(ms, () => void told('clock.after', work)),
    every: (ms, work) => clock.every(ms, () => void told('clock.every', work))
  })

  function own(call: AgentCall): AgentCall {
    const mine = calls.get(call) ?? { ...call, clock: timed(call.clock) }
    calls.set(call, mine)
    return mine
  }

  const fieldOf = (field: AgentField): AgentField => ({
    ...field,
    plan: (value, draft) => asked(`plan of ${field.key}`, () => field.plan?.(value, draft)),
    setMeters(value, rule, meters) {
      const work = (): void => field.setMeters?.(value, rule, meters)
      if (value === null) void told(`setMeters of ${field.key}`, work)
      else asked(`setMeters of ${field.key}`, work) // a rule must not open without its limit
    }
  })

  const kindOf = ({ applyOrder, ...kind }: AgentObjectKind): AgentObjectKind => ({
    ...kind,
    apply: (id, bytes, call) =>
      awaited(`apply of ${kind.kind}`, kindSecs, () => kind.apply(id, bytes, own(call))),
    async withdraw(id, removal, call) {
      const work = () => kind.withdraw(id, removal, own(call))
      const { done } = await awaited(`withdraw of ${kind.kind}`, kindSecs, work)
      return { done: told(`drain of ${kind.kind}`, () => done) }
    },
    ...(applyOrder && {
      applyOrder: (bytes, call) => asked(`applyOrder of ${kind.kind}`, () => applyOrder(bytes, own(call)))
    })
  })

  return {
    ...plugin,
    handlers: (plugin.handlers ?? []).map(handler => ({
      name: handler.name,
      run: (call, ...said) => awaited(handler.name, handlerSecs, () => handler.run(own(call), ...said))
    })),
    fields: (plugin.fields ?? []).map(fieldOf),
    kinds: (plugin.kinds ?? []).map(kindOf),
    meters: rule => asked('meters', () => plugin.meters?.(rule) ?? []),
    event(event, call) {
      if (plugin.event) void told('event', () => plugin.event?.(event, own(call)))
    },
    connected: (stream, call) => void told('connected', () => plugin.connected?.(stream, own(call))),
    stopping: call => told('stopping', () => plugin.stopping?.(own(call))),
    start: ({ call, defer }) =>
      startPlugin(name, async () =>
        plugin.start?.({
          call: own(call),
          defer: release => defer(() => told('release', pluginRelease(name, release)))
        })
      )
  }
}
