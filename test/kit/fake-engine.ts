import type {
  Counters,
  Engine,
  EngineEvent,
  EngineFault,
  EngineOptions,
  EngineRule,
  Filters,
  Resolved
} from '../../agent/engine.ts'

export interface FakeEngine extends Engine {
  /** What is open now. */
  readonly rules: Map<number, EngineRule>
  /** Every call, refused ones too, in order: `opened.length` is how often a rule was opened. */
  readonly opened: EngineRule[]
  readonly closed: { readonly ruleId: number; readonly drainMs: number }[]
  readonly filtered: { readonly ruleId: number; readonly filters: Filters }[]
  readonly answers: Map<number, Resolved>
  readonly isStopped: boolean
  /** In place of the function that opens a real engine: takes the options, gives this engine. */
  start(options: EngineOptions): FakeEngine
  /** What `sample` and `closed` say of the rule from now on; what is left out stays. */
  count(ruleId: number, counters: Partial<Counters>): void
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
  const opened: EngineRule[] = []
  const closed: { ruleId: number; drainMs: number }[] = []
  const filtered: { ruleId: number; filters: Filters }[] = []
  let onEvents: EngineOptions['onEvents'] = () => {}
  let refusal: EngineFault['code'] | null = null
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
    filter: (ruleId, filters) => void filtered.push({ ruleId, filters }),
    resolved: (token, answer) => void answers.set(token, answer),
    sample: () => [...counters.values()],
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
    active: 0
  })),
  targets: targets.map(() => ({ bytesIn: 0, bytesOut: 0, connectionsTotal: 0 })),
  connectionsTotal: 0,
  dnsFailures: 0,
  targetFailovers: 0,
  rejected: {}
})
