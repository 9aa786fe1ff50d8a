import { isDeepStrictEqual } from 'node:util'
import type { Log } from '../kernel/base/log.ts'
import { Refused } from '../kernel/wire/message.ts'
import type { Engine, EngineFault } from './engine.ts'
import type { Journal } from './journal.ts'
import type { Plan, Planner } from './planner.ts'
import type { AgentRules, RuleSpec } from './plugin.ts'
import type { Settings } from './settings.ts'

interface Options {
  readonly engine: Pick<Engine, 'open' | 'close' | 'filter'>
  readonly planner: Planner
  readonly journal: Pick<Journal, 'bind' | 'unbind'>
  readonly settings: Settings
  readonly log: Log
}

export interface Rules extends AgentRules {
  /** The engine has said `closed`: the last connection of it has ended. */
  ended(engineId: number): void
  /** All of them, for a stop of the agent; settles when every drain has ended. */
  closeAll(removal: 'drain' | 'cut'): Promise<void>
}

interface Running {
  readonly engineId: number
  readonly idleMs: number // the default when it was opened
  plan: Plan
}

interface Closing {
  readonly ruleId: string
  readonly done: Promise<void>
  readonly end: () => void
}

/** The server's rules in the engine, which knows them by numbers that are never used again. */
export function openRules({ engine, planner, journal, settings, log }: Options): Rules {
  const running = new Map<string, Running>()
  const closing = new Map<number, Closing>()
  const ruleIds = new Map<number, string>()
  let lastId = 0

  async function openNew(ruleId: string, plan: Plan, idleMs: number): Promise<void> {
    const engineId = ++lastId
    ruleIds.set(engineId, ruleId)
    journal.bind(engineId, { id: ruleId, targets: plan.targets })
    try {
      await engine.open({ ...plan, id: engineId })
    } catch (fault) {
      ruleIds.delete(engineId)
      journal.unbind(engineId)
      throw refusalOf(fault)
    }
    running.set(ruleId, { engineId, idleMs, plan })
    log.info('rule.opened', `listens on ${plan.protocol} ${portsOf(plan)}`, { rule: ruleId })
  }

  async function open(spec: RuleSpec): Promise<void> {
    const known = running.get(spec.id)
    const { tcpIdleMs } = settings.current()
    const plan = planner(spec, known?.idleMs ?? tcpIdleMs)
    if (known && isDeepStrictEqual(plan, known.plan)) return
    if (known && isDeepStrictEqual({ ...plan, ...filtersOf(known.plan) }, known.plan)) {
      engine.filter(known.engineId, filtersOf(plan))
      known.plan = plan
      return
    }
    if (known) await close(spec.id, 'drain')
    await openNew(spec.id, known ? planner(spec, tcpIdleMs) : plan, tcpIdleMs)
  }

  /** A second close, of one that drains already, may cut it. */
  async function close(ruleId: string, removal: 'drain' | 'cut'): Promise<{ readonly done: Promise<void> }> {
    const known = running.get(ruleId)
    running.delete(ruleId)
    if (known) closing.set(known.engineId, ending(ruleId))
    const mine = [...closing].filter(([, rule]) => rule.ruleId === ruleId)
    const drainMs = removal === 'cut' ? 0 : settings.current().drainMs
    const shut = mine.filter(([engineId]) => removal === 'cut' || engineId === known?.engineId)
    await Promise.all(shut.map(([engineId]) => engine.close(engineId, drainMs)))
    if (known) log.info('rule.closed', `no longer listens on ${portsOf(known.plan)}`, { rule: ruleId })
    return { done: Promise.all(mine.map(([, { done }]) => done)).then(() => {}) }
  }

  return {
    open,
    close,
    configure: settings.save,
    idOf: engineId => ruleIds.get(engineId),
    ended(engineId) {
      closing.get(engineId)?.end()
      closing.delete(engineId)
      ruleIds.delete(engineId)
    },
    async closeAll(removal) {
      const ids = new Set([...running.keys(), ...[...closing.values()].map(({ ruleId }) => ruleId)])
      const closed = await Promise.all([...ids].map(ruleId => close(ruleId, removal)))
      await Promise.all(closed.map(({ done }) => done))
    }
  }
}

function ending(ruleId: string): Closing {
  const { promise: done, resolve: end } = Promise.withResolvers<void>()
  return { ruleId, done, end }
}

const filtersOf = ({ source, target }: Plan) => ({ source, target })
const portsOf = ({ from, to }: Plan): string => (from === to ? `${from}` : `${from}-${to}`)

/** The engine speaks errno, the wire speaks codes. */
function refusalOf(fault: unknown): Refused {
  const { code, message } = fault as EngineFault // what `open` rejects with
  return new Refused(code === 'EADDRINUSE' ? 'port_in_use' : 'activation_failed', message, { cause: fault })
}
