import { reasonOf } from '../../kernel/base/errors.ts'
import { type Codec, Refused } from '../../kernel/wire/message.ts'
import { checkDiverts } from '../engine/divert.ts'
import type { EngineRule } from '../engine/engine.ts'
import { checkDialers, isSameTarget } from '../engine/engine-target.ts'
import type {
  AgentCall,
  AgentMeters,
  AgentPlugin,
  AgentShape,
  ApplyOrder,
  EngineRuleDraft,
  MeterUse,
  RuleSettings,
  RuleSpec
} from '../plugin.ts'
import type { Guardrails } from './guardrails.ts'
import { defaultRefusals } from './meters.ts'

/** An engine rule without ids of the rule and its meters, and without shares. */
export type Plan = Omit<EngineRule, 'id' | 'owner' | 'meters' | 'shares'>

export interface Planner {
  /**
   * Plans the rule from its fields. Pure. Throws Refused for an unknown field or shape, which could otherwise widen what the
   * rule matches, and if the guardrails forbid it.
   */
  plan(spec: RuleSpec, settings: RuleSettings): Plan
  /** Lets the fields set the meters of an open rule, or reset those of an ended one. */
  setMeters(spec: RuleSpec, meters: AgentMeters, state: 'open' | 'ended'): void
  /** Rules that share a port come into force together, the fallback last, so that the oldest rule counts misses. */
  applyOrderOf(spec: RuleSpec, settings: RuleSettings): ApplyOrder
  /** Returns the meters of a rule. One of them is its own, so that fields can close the rule. */
  metersOf(spec: RuleSpec): readonly MeterUse[]
}

interface Options {
  readonly plugins: readonly AgentPlugin[]
  readonly codec: Codec
  readonly guardrails: () => Guardrails
  readonly call: () => AgentCall
}

export function openPlanner({ plugins, codec, guardrails, call }: Options): Planner {
  const fields = new Map(
    plugins.flatMap(({ name: plugin, fields = [] }) =>
      fields.map(field => [field.key, { ...field, plugin }] as const)
    )
  )
  const supported = new Set(plugins.flatMap(({ shapes = [] }) => shapes.map(({ shape }) => shape)))

  function draftOf(spec: RuleSpec, settings: RuleSettings): EngineRuleDraft {
    const draft = draftWithoutFields(spec, settings)
    for (const [key, bytes] of Object.entries(spec.fields).sort(([a], [b]) => (a < b ? -1 : 1))) {
      const field = fields.get(key)
      if (!field) throw new Refused('field_unknown', `this agent does not know the field ${key}`)
      const value = codec.decode(field.message, bytes) // also refuses a bad value that only `setMeters` reads
      planBy(field.plugin, draft, () => field.plan?.(value, draft, spec))
    }
    for (const plugin of plugins) planBy(plugin.name, draft, () => plugin.plan?.(draft, spec, call()))
    for (const plugin of plugins) planBy(plugin.name, draft, () => plugin.tighten?.(draft, spec, call()))
    return draft
  }

  function plan(spec: RuleSpec, settings: RuleSettings): Plan {
    for (const shape of shapesOf(spec))
      if (!supported.has(shape))
        throw new Refused('shape_unknown', `this agent does not support rules with ${shape}`)
    const draft = draftOf(spec, settings)
    const { admit, filter } = guardrails()
    admit(draft)
    return { ...draft, target: [filter, ...draft.target] }
  }

  function setMeters(spec: RuleSpec, meters: AgentMeters, state: 'open' | 'ended'): void {
    for (const field of fields.values()) {
      const bytes = state === 'open' ? spec.fields[field.key] : undefined
      field.setMeters?.(bytes ? codec.decode(field.message, bytes) : null, spec, meters)
    }
  }

  function applyOrderOf(spec: RuleSpec, settings: RuleSettings): ApplyOrder {
    const { protocol, from, name, fallback } = draftOf(spec, settings)
    const rank = fallback ? 2 : name?.startsWith('*.') ? 1 : 0
    return { group: `${protocol} ${from}`, rank, isShared: fallback || name !== null }
  }

  function metersOf(spec: RuleSpec): readonly MeterUse[] {
    const uses = plugins.flatMap(plugin => plugin.meters?.(spec) ?? [])
    return uses.some(({ isOwn }) => isOwn) ? uses : [...uses, { ...closing, key: `closing ${spec.id}` }]
  }

  return { plan, setMeters, applyOrderOf, metersOf }
}

/** Lets a plugin plan. Throws Refused, which names the plugin and the field, for invalid diverts and dialers. */
function planBy(plugin: string, draft: EngineRuleDraft, work: () => void): void {
  const { diverts, targets } = draft
  work()
  const refused = (message: string, options?: ErrorOptions) =>
    new Refused('activation_failed', `plugin ${plugin}: ${message}`, options)
  try {
    if (draft.diverts !== diverts) checkDiverts(draft)
    if (draft.diverts !== diverts || draft.targets !== targets) checkDialers(draft)
  } catch (error) {
    throw refused(reasonOf(error), { cause: error })
  }
  const stranger = draft.diverts.find(
    divert => !diverts.includes(divert) && divert.name !== plugin && !divert.name.startsWith(`${plugin}-`)
  )
  if (stranger) throw refused(`diverts must be named ${plugin} or ${plugin}-SUFFIX, got ${stranger.name}`)
  const { dialer } =
    draft.targets.find(
      target =>
        target.dialer !== undefined &&
        target.dialer !== plugin &&
        !targets.some(before => isSameTarget(before, target))
    ) ?? {}
  if (dialer !== undefined) throw refused(`a target can only have the dialer ${plugin}, got ${dialer}`)
}

const closing: Omit<MeterUse, 'key'> = { refusals: defaultRefusals, isOwn: true }

/** Returns the key of the meter that only this rule uses. */
export function ownMeterIn(uses: readonly MeterUse[]): string {
  const own = uses.find(({ isOwn }) => isOwn)
  if (!own) throw new TypeError('the rule has no own meter')
  return own.key
}

/** A UDP target that does not answer for this long is left, if there is another one. */
const unansweredMs = 10_000

const draftWithoutFields = (
  { protocol, from, to, targets, preferIpv6 }: RuleSpec,
  { tcpIdleMs, udpIdleMs, udpFlowCap }: RuleSettings
): EngineRuleDraft => ({
  protocol,
  from,
  to,
  name: null,
  fallback: false,
  targets,
  balance: null,
  preferIpv6,
  probeMs: 0,
  idleMs: protocol === 'udp' ? udpIdleMs : tcpIdleMs,
  unansweredMs,
  flowCap: udpFlowCap,
  reportEnds: false,
  dialFrom: null,
  firstRead: null,
  preamble: null,
  replyCap: null,
  diverts: [],
  source: null,
  target: [],
  addressGuards: [],
  sourceLimits: []
})

function* shapesOf({ protocol, from, to, targets }: RuleSpec): Generator<AgentShape['shape']> {
  if (protocol === 'udp') yield 'udp'
  if (to > from) yield 'range'
  if (targets.length > 1) yield 'targets'
}
