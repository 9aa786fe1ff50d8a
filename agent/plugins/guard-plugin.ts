// Contains the failures of a plugin's agent half: each is logged with the plugin's name and affects nothing else.

import { runAs, withTimeout } from '../../kernel/base/attribution.ts'
import { Fault } from '../../kernel/base/errors.ts'
import type { Log } from '../../kernel/base/log.ts'
import { pluginRelease, startPlugin } from '../../kernel/base/plugin-lifecycle.ts'
import { containedClock, logFailure, loggedOnce } from '../../kernel/platform/plugins/containment.ts'
import { Refused } from '../../kernel/wire/message.ts'
import { checkDialAnswer } from '../engine/dial-request.ts'
import { objectHandlers } from '../objects/object-handlers.ts'
import type {
  AgentCall,
  AgentCommand,
  AgentField,
  AgentObjectKind,
  AgentPlugin,
  AgentTime,
  Dialed,
  DialedConnection
} from '../plugin.ts'

const kindSecs = 10
const commandSecs = 10
const handlerSecs = 15 // longer than `kindSecs`: a handler may apply objects

/** Wraps every function of a plugin. An error becomes a refusal if a result is needed; otherwise it is only logged. */
export function guardPlugin(plugin: AgentPlugin, log: Log, config: unknown): AgentPlugin {
  const { name, handlers = [], fields = [], kinds = [], commands = [] } = plugin
  const guard = openGuard(name, log, config)
  return {
    ...plugin,
    handlers: [...handlers, ...kinds.flatMap(objectHandlers)].map(({ run, ...handler }) => ({
      ...handler,
      run: (call, ...message) =>
        guard.orRefuseIn(handlerSecs, handler.name, () => run(guard.call(call), ...message))
    })),
    fields: fields.map(field => guardField(field, guard)),
    kinds: kinds.map(kind => guardKind(kind, guard)),
    commands: commands.map(command => guardCommand(command, guard)),
    meters: rule => guard.orRefuse('meters', () => plugin.meters?.(rule) ?? []),
    ...(plugin.plan && {
      plan: (draft, rule, call) => guard.orRefuse('plan', () => plugin.plan?.(draft, rule, guard.call(call)))
    }),
    ...(plugin.tighten && {
      tighten: (draft, rule, call) =>
        guard.orRefuse('tighten', () => plugin.tighten?.(draft, rule, guard.call(call)))
    }),
    ...(plugin.dial && { dial: (request, call) => guardDial(plugin, guard, [request, guard.call(call)]) }),
    event(event, call) {
      if (plugin.event) void guard.orLog('event', () => plugin.event?.(event, guard.call(call)))
    },
    connected: (stream, call) =>
      void guard.orLog('connected', () => plugin.connected?.(stream, guard.call(call))),
    ...(plugin.lifecycle && {
      lifecycle: (phase, call) =>
        void guard.orLog('lifecycle', () => plugin.lifecycle?.(phase, guard.call(call)))
    }),
    stopping: call => guard.orLog('stopping', () => plugin.stopping?.(guard.call(call))),
    ...(plugin.metrics && {
      metrics: async call => (await runAs(name, () => plugin.metrics?.(guard.call(call)))) ?? []
    }),
    ...(plugin.status && { status: call => guardStatus(plugin, guard, call) }),
    ...(plugin.explain && {
      explain: (asked, call) =>
        guard.orRefuse('explain', () => plugin.explain?.(asked, guard.call(call)) ?? [])
    }),
    start: scope =>
      startPlugin(name, async () =>
        plugin.start?.({
          call: guard.call(scope.call),
          defer: release => scope.defer(() => guard.orLog('release', pluginRelease(name, release))),
          get metrics() {
            return scope.metrics
          },
          get explainers() {
            return scope.explainers
          }
        })
      )
  }
}

type Lists = ReturnType<NonNullable<AgentPlugin['status']>>

/** Returns no lists after an error. */
function guardStatus(plugin: AgentPlugin, guard: Guard, call: AgentCall): Lists {
  let lists: Lists = {}
  void guard.orLog('status', () => {
    lists = plugin.status?.(guard.call(call)) ?? {}
  })
  return lists
}

/** Never rejects: an error is the failure 'internal'. */
async function guardDial(
  plugin: AgentPlugin,
  guard: Guard,
  given: Parameters<NonNullable<AgentPlugin['dial']>>
): Promise<Dialed> {
  let dialed: Dialed = { ok: false, reason: 'internal', isRefusal: false }
  await guard.orLog('dial', async () => {
    const answer = await plugin.dial?.(...given)
    if (!answer) return
    try {
      checkDialAnswer(answer)
    } catch (error) {
      if (answer.ok) answer.cancel()
      throw error
    }
    dialed = answer.ok ? guardConnection(answer, guard) : answer
  })
  return dialed
}

const guardConnection = (connection: DialedConnection, guard: Guard): DialedConnection => ({
  ok: true,
  address: connection.address,
  port: connection.port,
  ...(connection.timing && { timing: connection.timing }),
  carry: stream =>
    void guard.orLog('carry', () => {
      try {
        connection.carry(stream)
      } catch (error) {
        stream.destroy()
        throw error
      }
    }),
  cancel: () => void guard.orLog('cancel', () => connection.cancel())
})

const guardCommand = (command: AgentCommand, guard: Guard): AgentCommand => ({
  ...command,
  run: ({ args, call }) =>
    guard.orRefuseIn(commandSecs, `command ${command.name}`, async () =>
      command.run({ args, call: guard.call(call) })
    )
})

const guardField = (field: AgentField, guard: Guard): AgentField => ({
  ...field,
  plan: (value, draft, rule) =>
    guard.orRefuse(`plan of ${field.key}`, () => field.plan?.(value, draft, rule)),
  setMeters(value, rule, meters) {
    const hook = `setMeters of ${field.key}`
    const work = (): void => field.setMeters?.(value, rule, meters)
    if (value === null) void guard.orLog(hook, work)
    else guard.orRefuse(hook, work) // the rule must not open without its limits
  },
  ...(field.opened && {
    opened: (rule, call) =>
      guard.orRefuse(`opened of ${field.key}`, () => field.opened?.(rule, guard.call(call)))
  }),
  changed: (rule, call) =>
    guard.orRefuse(`changed of ${field.key}`, () => field.changed?.(rule, guard.call(call))),
  gone: (rule, call) => void guard.orLog(`gone of ${field.key}`, () => field.gone?.(rule, guard.call(call)))
})

const guardKind = ({ applyOrder, ...kind }: AgentObjectKind, guard: Guard): AgentObjectKind => ({
  ...kind,
  apply: (id, object, call) =>
    guard.orRefuseIn(kindSecs, `apply of ${kind.kind}`, () => kind.apply(id, object, guard.call(call))),
  async withdraw(id, removal, call) {
    const work = () => kind.withdraw(id, removal, guard.call(call))
    const { done } = await guard.orRefuseIn(kindSecs, `withdraw of ${kind.kind}`, work)
    return { done: guard.orLog(`drain of ${kind.kind}`, () => done) }
  },
  ...(applyOrder && {
    applyOrder: (object, call) =>
      guard.orRefuse(`applyOrder of ${kind.kind}`, () => applyOrder(object, guard.call(call)))
  })
})

/** Runs the functions of one plugin. */
interface Guard {
  /** Returns the call with the plugin's configuration and guarded timers: always the same object, since plugins use it as a key. */
  call(call: AgentCall): AgentCall
  /** Converts an error to a refusal. */
  orRefuse<T>(hook: string, work: () => T): T
  /** Like `orRefuse`, with a timeout. */
  orRefuseIn<T>(secs: number, hook: string, work: () => Promise<T>): Promise<T>
  /** Starts the work at once and logs errors. Never rejects. */
  orLog(hook: string, work: () => unknown): Promise<void>
}

function openGuard(plugin: string, log: Log, config: unknown): Guard {
  const calls = new WeakMap<AgentCall, AgentCall>()

  function guardCall(call: AgentCall): AgentCall {
    const { clock, time } = call
    const guardedTime: AgentTime = {
      ...time,
      at: (ms, work) => time.at(ms, loggedOnce(log, { plugin, hook: 'time.at' }, work))
    }
    const guarded = calls.get(call) ?? {
      ...call,
      config,
      clock: containedClock(clock, plugin, log),
      time: guardedTime
    }
    calls.set(call, guarded)
    return guarded
  }

  function orRefuse<T>(hook: string, work: () => T): T {
    try {
      return runAs(plugin, work)
    } catch (error) {
      throw refusalOf(hook, error)
    }
  }

  const orRefuseIn = <T>(secs: number, hook: string, work: () => Promise<T>): Promise<T> =>
    withTimeout(secs, hook, () => runAs(plugin, work)).catch(error => {
      throw refusalOf(hook, error)
    })

  async function orLog(hook: string, work: () => unknown): Promise<void> {
    try {
      await runAs(plugin, work)
    } catch (error) {
      logFailure(log, { plugin, hook }, error)
    }
  }

  function refusalOf(hook: string, error: unknown): Refused | Fault {
    if (error instanceof Refused || error instanceof Fault) return error
    logFailure(log, { plugin, hook }, error)
    return new Refused('internal', `plugin ${plugin} failed at ${hook}; the agent's log says why`, {
      cause: error
    })
  }

  return { call: guardCall, orRefuse, orRefuseIn, orLog }
}
