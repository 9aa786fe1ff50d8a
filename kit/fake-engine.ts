import {
  type Budget,
  type Counters,
  type Engine,
  type EngineEvent,
  type EngineFault,
  type EngineOptions,
  type EngineRule,
  type Filters,
  type Meter,
  type MeterCounters,
  peekBoundsMs,
  type Resolved,
  type Sample
} from '../agent/engine.ts'

export interface FakeEngine extends Engine {
  /** What is open now. */
  readonly rules: Map<number, EngineRule>
  /** Every call, refused ones too, in order: `opened.length` is how often a rule was opened. */
  readonly opened: EngineRule[]
  readonly closed: { readonly ruleId: number; readonly drainMs: number }[]
  /** Meters and budgets as they are now, by their numbers. */
  readonly meters: Map<number, Meter>
  readonly budgets: Map<number, Budget>
  readonly filtered: { readonly ruleId: number; readonly filters: Filters }[]
  readonly answers: Map<number, Resolved>
  readonly isStopped: boolean
  /** In place of the function that opens a real engine: takes the options, gives this engine. */
  start(options: EngineOptions): FakeEngine
  /** What `sample` and `closed` say of the rule from now on; what is left out stays. */
  count(ruleId: number, counters: Partial<Counters>): void
  /** The same, of a meter, and of all peeks. */
  pass(meterId: number, counters: Partial<MeterCounters>): void
  peek(counts: readonly number[], sumMs: number): void
  /** The next `open` is refused. */
  refuse(code: EngineFault['code']): void
  /** From now on a drain lasts until `drained`; before, `closed` comes at once. */
  holdDrains(): void
  drained(ruleId: number): void
  emit(...events: EngineEvent[]): void
}

/** Remembers what it was told, says what a test wants it to say; forwards nothing. */
export function fakeEngine(): FakeEngine {
  const rules = new Map<number, EngineRule>()
  const counters = new Map<number, Counters>()
  const answers = new Map<number, Resolved>()
  const metered = new Map<number, MeterCounters>()
  const meters = new Map<number, Meter>()
  const budgets = new Map<number, Budget>()
  const opened: EngineRule[] = []
  const closed: { ruleId: number; drainMs: number }[] = []
  const filtered: { ruleId: number; filters: Filters }[] = []
  let onEvents: EngineOptions['onEvents'] = () => {}
  let refusal: EngineFault['code'] | null = null
  let peeks: Sample['peekDurations'] = { counts: peekBoundsMs.map(() => 0).concat(0), sumMs: 0 }
  let holdsDrains = false
  let isStopped = false

  const drained = (ruleId: number) => {
    const last = counters.get(ruleId)
    if (!last) return
    counters.delete(ruleId)
    const ports = last.ports.map(port => ({ ...port, active: 0 }))
    onEvents([{ kind: 'closed', counters: { ...last, ports } }])
  }

  const engine: FakeEngine = {
    rules,
    opened,
    closed,
    filtered,
    meters,
    budgets,
    answers,
    get isStopped() {
      return isStopped
    },
    start(options) {
      onEvents = options.onEvents
      return engine
    },
    async open(rule) {
      opened.push(rule)
      const code = isStopped ? 'ESTOPPED' : refusal
      refusal = null
      if (code !== null) throw Object.assign(new Error(`port ${rule.from}: ${code}`), { code })
      rules.set(rule.id, rule)
      counters.set(rule.id, nothingYet(rule))
    },
    async close(ruleId, drainMs) {
      closed.push({ ruleId, drainMs })
      rules.delete(ruleId)
      if (!holdsDrains || drainMs === 0) queueMicrotask(() => drained(ruleId))
    },
    setFilters: (ruleId, filters) => void filtered.push({ ruleId, filters }),
    resolved: (token, answer) => void answers.set(token, answer),
    setMeter(id, meter) {
      meters.set(id, meter)
      if (!metered.has(id)) metered.set(id, { id, bytesIn: 0, bytesOut: 0, active: 0, throttledMs: 0 })
    },
    setBudget(id, budget) {
      if (budget) budgets.set(id, budget)
      else budgets.delete(id)
    },
    removeMeter(id) {
      for (const kept of [meters, metered, budgets]) kept.delete(id)
    },
    sample: () => ({
      rules: [...counters.values()],
      meters: [...metered.values()],
      peekDurations: { ...peeks },
      eventsDropped: 0
    }),
    async stop() {
      if (isStopped) return
      isStopped = true
      rules.clear()
      for (const ruleId of [...counters.keys()]) drained(ruleId)
    },
    count(ruleId, changed) {
      const now = counters.get(ruleId)
      if (!now) throw new TypeError(`the fake engine holds no rule ${ruleId}`)
      counters.set(ruleId, { ...now, ...changed })
    },
    pass(meterId, changed) {
      const now = metered.get(meterId)
      if (!now) throw new TypeError(`the fake engine holds no meter ${meterId}`)
      metered.set(meterId, { ...now, ...changed })
    },
    peek(counts, sumMs) {
      peeks = { counts, sumMs }
    },
    refuse(code) {
      refusal = code
    },
    holdDrains() {
      holdsDrains = true
    },
    drained,
    emit: (...events) => onEvents(events)
  }
  return engine
}

const nothingYet = ({ id, from, to, targets }: EngineRule): Counters => ({
  ruleId: id,
  ports: Array.from({ length: to - from + 1 }, (_, i) => ({
    port: from + i,
    bytesIn: 0,
    bytesOut: 0,
    datagramsIn: 0,
    datagramsOut: 0,
    active: 0
  })),
  targets: targets.map(() => ({
    bytesIn: 0,
    bytesOut: 0,
    connectionsTotal: 0,
    health: 'unknown',
    consecutiveFailures: 0,
    lastFailureAt: null,
    lastSuccessAt: null
  })),
  connectionsTotal: 0,
  dnsFailures: 0,
  targetFailovers: 0,
  flowsDroppedOverflow: 0,
  rejected: {}
})
