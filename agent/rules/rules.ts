import { isDeepStrictEqual } from 'node:util'
import type { Log } from '../../kernel/base/log.ts'
import { Refused } from '../../kernel/wire/message.ts'
import type { Engine, EngineFault } from '../engine.ts'
import type { Journal } from '../journal/journal.ts'
import type { AgentRules, MeterUse, RuleSettings, RuleSpec } from '../plugin.ts'
import type { RuleSettingsStore } from '../state/rule-settings.ts'
import type { Meters } from './meters.ts'
import type { Plan, Planner } from './planner.ts'

interface Options {
  readonly engine: Pick<Engine, 'open' | 'close' | 'setFilters'>
  readonly planner: Planner
  readonly meters: Meters
  readonly journal: Pick<Journal, 'bind' | 'unbind'>
  readonly settings: RuleSettingsStore
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
  readonly settings: RuleSettings // as they were when it was opened
  plan: Plan
}

interface Closing {
  readonly ruleId: string
  readonly done: Promise<void>
  readonly end: () => void
}

/** The server's rules in the engine, which knows them by numbers that are never used again. */
export function openRules({ engine, planner, meters, journal, settings, log }: Options): Rules {
  const running = new Map<string, Running>()
  const closing = new Map<number, Closing>()
  const specs = new Map<number, RuleSpec>()
  const passed = new Map<number, readonly MeterUse[]>()
  let lastId = 0

  async function openNew(spec: RuleSpec, plan: Plan): Promise<void> {
    const engineId = ++lastId
    const uses = planner.metersOf(spec)
    const joined = meters.join(uses)
    specs.set(engineId, spec)
    passed.set(engineId, uses)
    journal.bind(engineId, { id: spec.id, owner: spec.owner, targets: plan.targets })
    try {
      planner.setMeters(spec, meters, 'open')
      await engine.open({ ...plan, id: engineId, meters: joined })
    } catch (fault) {
      journal.unbind(engineId)
      forget(engineId)
      throw refusalOf(fault)
    }
    running.set(spec.id, { engineId, settings: settings.current(), plan })
    log.info('rule.opened', `listens on ${plan.protocol} ${portsOf(plan)}`, { rule: spec.id })
  }

  async function open(spec: RuleSpec): Promise<void> {
    const known = running.get(spec.id)
    const plan = planner.plan(spec, known?.settings ?? settings.current())
    if (known && isDeepStrictEqual({ ...plan, ...filtersOf(known.plan) }, known.plan))
      return change(known, spec, plan)
    if (known) await close(spec.id, 'drain')
    await openNew(spec, known ? planner.plan(spec, settings.current()) : plan)
  }

  /** Filters and limits reach what lives. */
  function change(known: Running, spec: RuleSpec, plan: Plan): void {
    specs.set(known.engineId, spec)
    planner.setMeters(spec, meters, 'open')
    if (isDeepStrictEqual(plan, known.plan)) return
    engine.setFilters(known.engineId, filtersOf(plan))
    known.plan = plan
  }

  /** Its limits stay while a successor of the same id runs. */
  function forget(engineId: number): void {
    const spec = specs.get(engineId)
    specs.delete(engineId)
    meters.leave(passed.get(engineId) ?? [])
    passed.delete(engineId)
    if (!spec) return
    if (![...specs.values()].some(({ id }) => id === spec.id)) planner.setMeters(spec, meters, 'ended')
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
    applyOrderOf: spec => planner.applyOrderOf(spec, settings.current()),
    configure: settings.save,
    find: engineId => specs.get(engineId),
    ended(engineId) {
      closing.get(engineId)?.end()
      closing.delete(engineId)
      forget(engineId)
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
  if (fault instanceof Refused) return fault // of a plugin
  const { code, message } = fault as EngineFault // what `open` rejects with
  return new Refused(code === 'EADDRINUSE' ? 'port_in_use' : 'activation_failed', message, { cause: fault })
}
