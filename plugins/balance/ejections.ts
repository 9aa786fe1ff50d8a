// Ejects targets and returns them to service. Reads the engine's counters once a second, and as soon as a target fails.
import { isDeepStrictEqual } from 'node:util'
import type { Type } from 'typebox'
import {
  type AgentCall,
  type AgentPlugin,
  defineField,
  type Ejection,
  type FieldRule,
  type TargetShare
} from '../../agent/plugin.ts'
import { fieldMessage } from '../../agent/wire/rule-field.ts'
import type { Release } from '../../kernel/base/releases.ts'
import { balance, defaults, type Spread, slowConnect, slowStart } from './fields.ts'
import { type Limits, type Observed, Outliers, type Part } from './outliers.ts'

const everyMs = 1_000

type Rule = FieldRule<Type.TUnsafe<Spread>>
type Event = Parameters<NonNullable<AgentPlugin['event']>>[0]
/** Counters by 'host port' of the target. */
type Counted = ReadonlyMap<string, Observed>

interface Watched {
  readonly outliers: Outliers
  readonly ejected: Map<string, Ejection & { readonly untilMs: number }> // by target
  shares: readonly TargetShare[] // as set last
}

/** Watched rules by id, for each agent of the process. */
type Agents = WeakMap<AgentCall, Map<string, Watched>>

/** The hooks of the field `balance`, of the engine's events and of the agent's start. */
export interface Ejections {
  opened(rule: Rule, call: AgentCall): void
  changed(rule: Rule, call: AgentCall): void
  gone(rule: Rule, call: AgentCall): void
  event(event: Event, call: AgentCall): void
  /** Judges targets once a second until the release. */
  start(call: AgentCall): Release
}

export const slowConnectField = defineField(slowConnect)
export const slowStartField = defineField(slowStart)
const balanceField = { key: balance.key, message: fieldMessage(balance) }

const targetName = ({ host, port }: Rule['spec']['targets'][number]): string => `${host} ${port}`

export function openEjections(): Ejections {
  const agents: Agents = new WeakMap()

  function judge(call: AgentCall, ruleId: string | null): void {
    const rules = call.rules
      .having(balanceField)
      .filter(({ spec: { id, targets } }) => targets.length > 1 && (ruleId === null || id === ruleId))
    if (rules.length === 0) return
    const counted = countedBy(call)
    const limits = limitsBy(call)
    for (const rule of rules)
      decide(
        { rule, watched: watchedBy(agents, call, rule), limits: limits(rule) },
        counted.get(rule.spec.id) ?? null,
        call
      )
  }

  const entered = (rule: Rule, call: AgentCall): void =>
    decide({ rule, watched: watchedBy(agents, call, rule), limits: limitsBy(call)(rule) }, null, call)

  return {
    opened: entered,
    changed: entered,
    gone: ({ spec: { id } }: Rule, call: AgentCall): void => void agents.get(call)?.delete(id),

    event(event: Event, call: AgentCall): void {
      if (event.kind !== 'target-health') return
      const { id = '', targets = [] } = call.rules.find(event.ruleId) ?? {}
      const target = targets[event.target]
      if (target && event.to === 'failed')
        agents.get(call)?.get(id)?.outliers.failed(targetName(target), event.reason)
      judge(call, id)
    },

    start(call: AgentCall): Release {
      const end = call.clock.every(everyMs, () => judge(call, null))
      return () => {
        void end()
        agents.delete(call)
      }
    }
  }
}

/** Returns a function that looks up the limits of a rule. */
function limitsBy({ rules }: AgentCall): (rule: Rule) => Limits {
  const ms = new Map(rules.having(slowConnectField).map(({ spec, value }) => [spec.id, value.value]))
  const secs = new Map(rules.having(slowStartField).map(({ spec, value }) => [spec.id, value.value]))
  return ({ spec: { id }, value: { by } }) => ({
    slowMs: ms.get(id) ?? defaults.slowConnectMs,
    slowStartMs: 1000 * (secs.get(id) ?? defaults.slowStartSecs),
    keepsShares: by === 'source_hash'
  })
}

function watchedBy(agents: Agents, call: AgentCall, { spec: { id, targets } }: Rule): Watched {
  const all = agents.get(call) ?? new Map<string, Watched>()
  agents.set(call, all)
  const known = all.get(id) ?? {
    outliers: new Outliers(),
    ejected: new Map(),
    shares: targets.map(() => 1)
  }
  all.set(id, known)
  known.outliers.begin(targets.map(targetName), call.clock.monotonic())
  return known
}

/** Judges the targets by their counters, if given, and sets the shares in the engine. */
function decide(
  { rule, watched, limits }: { readonly rule: Rule; readonly watched: Watched; readonly limits: Limits },
  counted: Counted | null,
  call: AgentCall
): void {
  const { targets, id } = rule.spec
  const now = call.clock.monotonic()
  if (counted) watched.outliers.judge(observed(rule, counted), limits, now)
  const names = targets.map(targetName)
  const shares = watched.outliers
    .parts(names, limits, now)
    .map((part, at) => targetShare(part, names[at] ?? '', watched, call))
  if (isDeepStrictEqual(shares, watched.shares)) return
  watched.shares = shares
  call.rules.setShares(id, shares)
}

/** Computes the end of an ejection in server time only once, because a later clock correction must not move it. */
function targetShare(
  part: Part,
  name: string,
  { ejected }: Watched,
  { clock, time }: AgentCall
): TargetShare {
  if ('share' in part) {
    ejected.delete(name)
    return part.share
  }
  const { reason, untilMs } = part
  const known = ejected.get(name)
  const until =
    known?.untilMs === untilMs ? known.until : Math.round(time.now() + untilMs - clock.monotonic())
  ejected.set(name, { reason, until, untilMs })
  return { reason, until }
}

const observed = ({ spec: { targets }, value: { tiers, weights } }: Rule, counted: Counted) =>
  targets.map((target, at) => ({
    name: targetName(target),
    tier: tiers[at] ?? 0,
    weight: weights[at] ?? 0,
    observed: counted.get(targetName(target)) ?? null
  }))

/** Returns the counters of the newest run of each rule. */
function countedBy({ takeSample, rules }: AgentCall): ReadonlyMap<string, Counted> {
  const found = new Map<string, Counted>()
  for (const { ruleId, targets } of takeSample().rules) {
    const spec = rules.find(ruleId)
    if (!spec) continue
    const counters = targets.flatMap((counters, at) => {
      const target = spec.targets[at]
      return target ? [[targetName(target), counters] as const] : []
    })
    found.set(spec.id, new Map(counters))
  }
  return found
}
