import type {
  AgentCall,
  AgentPlugin,
  AgentQueue,
  ControlStream,
  ProbedChange,
  RuleSpec,
  TargetEvent
} from '../../agent/plugin.ts'
import { newId } from '../../kernel/platform/id.ts'
import { maxEntries, messages, Report, type ReportedEntry, welcomePart } from './wire.ts'

const closedEveryMs = 1_000
const retryMs = 60_000
const maxRedials = 64 // remembered for a rule: one for each pair of targets
const redialMs = 600_000 // between two entries for flows that left a target for the same other one

type ObservedChange = Omit<ReportedEntry, 'id' | 'at_ms'>

const emptyEntry = { rule_id: '', from: '', to: '', cause: '', target: '' }

/** The state of one agent, keyed by its call because a process may run several agents. */
interface State {
  readonly queue: AgentQueue
  /** Failed targets ('host:port') by rule id. Has only targets of the rule that an event has named. */
  readonly failed: Map<string, ReadonlySet<string>>
  /** Ejected targets by rule id, failed or not. */
  readonly ejected: Map<string, ReadonlySet<string>>
  /** When an entry was last queued for a flow that left a target: by rule id, and both addresses. */
  readonly redialed: Map<string, Map<string, number>>
  report: () => void
}

const states = new WeakMap<AgentCall, State>()

function agentState(call: AgentCall): State {
  const state = states.get(call) ?? {
    queue: call.queue('journal'),
    failed: new Map(),
    ejected: new Map(),
    redialed: new Map(),
    report() {}
  }
  states.set(call, state)
  return state
}

function queueEntry(call: AgentCall, happened: ObservedChange): void {
  const state = agentState(call)
  const now = call.time.now()
  const owner = call.paths.find(happened.rule_id)?.spec.owner
  state.queue.push(JSON.stringify({ ...happened, id: newId(now), at_ms: Math.floor(now) }), owner)
  state.report()
}

export default {
  name: 'journal',
  agent: '^1.0.0',
  messages,
  event(event, call) {
    if (event.kind === 'target-ejected' || event.kind === 'target-returned')
      return recordEjection(event, call)
    if (event.kind === 'target-probed') return recordProbe(event, call)
    const rule = 'ruleId' in event ? call.rules.find(event.ruleId) : undefined
    if (event.kind === 'target-health' && rule) recordHealth(rule, event, call)
    else if (event.kind === 'flow-redialed' && rule) recordRedial(rule, event, call)
    else if (event.kind === 'closed') {
      const ended = call.rules.find(event.counters.ruleId)
      if (!ended || call.rules.isOpen(ended.id)) return
      agentState(call).failed.delete(ended.id)
      agentState(call).ejected.delete(ended.id)
      agentState(call).redialed.delete(ended.id)
    }
  },
  connected(stream, call) {
    if (stream.welcomePart(welcomePart) === undefined) return // the server keeps no journal
    const state = agentState(call)
    state.report = openReporter(stream, call)
    stream.signal.addEventListener('abort', call.clock.every(retryMs, state.report), { once: true })
    state.report()
  },
  async start({ call, defer }) {
    queueEntry(call, { ...emptyEntry, kind: 'edge', from: 'stopped', to: 'started', cause: 'agent_started' })
    let closed: ReadonlyMap<string, string> | null = null // null: the saved rules may not be open yet
    const checkClosed = (): void => {
      const now = call.rules.closed()
      if (closed !== null) recordClosedRules(closed, now, call)
      closed = now
    }
    defer(call.clock.every(closedEveryMs, checkClosed))
  }
} satisfies AgentPlugin

/** Queues an entry for a flow that left a silent target, or a silent address of its target. */
function recordRedial(
  rule: RuleSpec,
  { from, to, addresses }: { from: number; to: number; addresses: readonly [string, string] },
  call: AgentCall
): void {
  const { redialed } = agentState(call)
  const old = rule.targets[from]
  const next = rule.targets[to]
  if (!old || !next) return
  const written = redialed.get(rule.id) ?? new Map<string, number>()
  const key = addresses.join(' ')
  const now = call.clock.monotonic()
  for (const [other, at] of written) if (now - at >= redialMs) written.delete(other)
  if (written.has(key) || written.size >= maxRedials) return
  redialed.set(rule.id, written.set(key, now))
  const names =
    from === to ? addresses.map(host => targetName({ ...old, host })) : [old, next].map(targetName)
  const [left = '', taken = ''] = names
  queueEntry(call, {
    rule_id: rule.id,
    cause: 'no_answer',
    target: targetName(old),
    kind: 'failover',
    from: left,
    to: taken
  })
}

interface HealthChange {
  readonly target: number
  readonly from: string
  readonly to: string
  readonly reason: string
}

function recordHealth(rule: RuleSpec, { target, from, to, reason }: HealthChange, call: AgentCall): void {
  const { failed } = agentState(call)
  recordTargetChange(rule, { target, from, to, reason, out: failed, isOut: to === 'failed' }, call)
}

/** A probe changes no failover: callers get the same target. */
function recordProbe(
  { rule, target, from, to, reason }: ProbedChange & { readonly rule: RuleSpec },
  call: AgentCall
): void {
  const name = rule.targets.map(targetName)[target] ?? ''
  queueEntry(call, { rule_id: rule.id, cause: reason, target: name, kind: 'target', from, to })
}

/** A target that returns from ejection stays failed until a connection succeeds. */
function recordEjection({ rule, target, kind, reason }: TargetEvent, call: AgentCall): void {
  const { failed, ejected } = agentState(call)
  const name = rule.targets.map(targetName)[target]
  const state = name !== undefined && failed.get(rule.id)?.has(name) ? 'failed' : 'healthy'
  const isOut = kind === 'target-ejected'
  const from = isOut ? state : 'ejected'
  const to = isOut ? 'ejected' : state
  recordTargetChange(rule, { target, from, to, reason, out: ejected, isOut }, call)
}

interface Change extends HealthChange {
  readonly out: State['failed']
  readonly isOut: boolean
}

/** Queues an entry for the change, and one for a failover if the first available target is now a different one. */
function recordTargetChange(
  rule: RuleSpec,
  { target, from, to, reason, out, isOut }: Change,
  call: AgentCall
): void {
  const names = rule.targets.map(targetName)
  const name = names[target]
  if (name === undefined) return
  const { failed, ejected } = agentState(call)
  const isServing = (one: string) => !failed.get(rule.id)?.has(one) && !ejected.get(rule.id)?.has(one)
  const used = names.find(isServing) ?? ''
  const now = new Set([...(out.get(rule.id) ?? [])].filter(known => names.includes(known) && known !== name))
  if (isOut) now.add(name)
  if (now.size > 0) out.set(rule.id, now)
  else out.delete(rule.id)
  if (from === 'unknown' && to === 'healthy') return // the first connection of a target
  const about = { rule_id: rule.id, cause: reason, target: name }
  queueEntry(call, { ...about, kind: 'target', from, to })
  const next = names.find(isServing) ?? ''
  if (names.length > 1 && used !== next)
    queueEntry(call, { ...about, kind: 'failover', from: used, to: next })
}

const targetName = ({ host, port }: RuleSpec['targets'][number]): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`

/** Queues an entry for each rule that a field has closed or opened. The server records pauses. */
function recordClosedRules(
  before: ReadonlyMap<string, string>,
  now: ReadonlyMap<string, string>,
  call: AgentCall
): void {
  for (const rule_id of new Set([...before.keys(), ...now.keys()])) {
    const was = before.get(rule_id)
    const is = now.get(rule_id)
    const cause = is ?? was ?? ''
    if (was === is || cause === 'paused' || !call.rules.isOpen(rule_id)) continue
    const from = is !== undefined && was === undefined ? 'open' : 'closed'
    const to = is === undefined ? 'open' : 'closed'
    queueEntry(call, { ...emptyEntry, rule_id, kind: 'state', from, to, cause: cause.slice(0, 64) })
  }
}

/** Returns the function that sends queued entries until the queue is empty. Stored entries leave the queue. */
function openReporter(stream: ControlStream, call: AgentCall): () => void {
  const { queue } = agentState(call)
  let isRunning = false
  let isWanted = false

  async function send(): Promise<void> {
    for (let items = queue.first(maxEntries); items.length > 0; items = queue.first(maxEntries)) {
      const entries = items.map(({ item }) => JSON.parse(item) as ReportedEntry) // from `queueEntry`
      await stream.request(Report, { entries })
      queue.removeUntil(items.at(-1)?.seq ?? 0)
    }
  }

  async function report(): Promise<void> {
    isWanted = true
    if (isRunning) return
    isRunning = true
    try {
      for (; isWanted && !stream.signal.aborted; await send()) isWanted = false
    } catch (error) {
      if (stream.signal.aborted) return
      call.log.warn(
        'journal.report_failed',
        `entries were not reported, retrying in a minute: ${String(error)}`
      )
    } finally {
      isRunning = false
    }
  }

  return () => void report()
}
