// The agent half. Stores the entries of a rule as sets in the engine, which checks new callers against them. A change ends
// connections and flows that are no longer allowed.
import type { TSchema } from 'typebox'
import {
  type AddressGuard,
  type AgentCall,
  type AgentPlugin,
  type AskedCaller,
  defineField,
  type EngineRuleDraft,
  type ExplainStep,
  type FieldRule
} from '../../agent/plugin.ts'
import { addressForms } from '../../kernel/platform/address-forms.ts'
import { allowSources, capability, denySources } from './fields.ts'
import { includes, pack, unpack } from './packed-prefixes.ts'
import { Lists, listsKey, messages, refusal } from './wire.ts'

type Side = 'allow' | 'deny'

const setName = (of: 'rule' | 'lists', side: Side, ruleId: string): string =>
  `source-filter ${side} of ${of} ${ruleId}`

/** The entries in the engine, by set. */
const known = new WeakMap<AgentCall, Map<string, ReadonlySet<string>>>()

function fill(name: string, entries: readonly string[], call: AgentCall): void {
  const sets = known.get(call) ?? new Map<string, ReadonlySet<string>>()
  known.set(call, sets)
  const before = sets.get(name) ?? new Set()
  const after = new Set(entries)
  call.changeAddresses(name, { add: [...after.difference(before)], remove: [...before.difference(after)] })
  if (after.size > 0) sets.set(name, after)
  else sets.delete(name)
}

/** Both fields share one guard, so that a denied caller counts once. */
function guard(draft: EngineRuleDraft, ruleId: string, side: Side): void {
  const isOwn = (one: AddressGuard) =>
    one.deny.concat(one.allow ?? []).some(name => name.endsWith(` ${ruleId}`))
  const own = draft.addressGuards.find(one => one.refusal === refusal && isOwn(one))
  const others = draft.addressGuards.filter(one => one !== own)
  const sets = [setName('rule', side, ruleId), setName('lists', side, ruleId)]
  const made: AddressGuard = own ?? { allow: null, deny: [], live: 'reset', refusal }
  draft.addressGuards = [...others, { ...made, [side]: sets }]
}

function side(field: typeof allowSources | typeof denySources, of: Side) {
  const decide = ({ spec: { id }, value }: FieldRule<typeof field.sent>, call: AgentCall): void =>
    fill(setName('rule', of, id), value.prefixes, call)
  return defineField<typeof allowSources.body, typeof allowSources.sent>({
    ...field,
    opened: decide,
    changed: decide,
    plan: (_, draft, { id }) => guard(draft, id, of),
    gone: ({ spec: { id } }, call) => fill(setName('rule', of, id), [], call)
  })
}

const fillLists = <B extends TSchema>(
  { spec: { id } }: FieldRule<B>,
  lists: Record<Side, Uint8Array>,
  call: AgentCall
) => {
  for (const of of ['allow', 'deny'] as const) fill(setName('lists', of, id), unpack(lists[of]), call)
}
const none = { allow: new Uint8Array(), deny: new Uint8Array() }
const decideLists = (rule: FieldRule<typeof Lists.body>, call: AgentCall): void =>
  fillLists(rule, rule.value, call)

const lists = defineField({
  key: listsKey,
  message: Lists,
  opened: decideLists,
  changed: decideLists,
  gone: (rule, call) => fillLists(rule, none, call)
})
const sides = { allow: side(allowSources, 'allow'), deny: side(denySources, 'deny') } as const

/** Explains which side of the filter stops a caller. Behind a proxy, the address in the header counts. */
function explain({ path, source, refused }: AskedCaller, call: AgentCall): ExplainStep[] {
  const { spec, plan } = path
  const isAllowing = Object.hasOwn(spec.fields, allowSources.key)
  const isDenying = Object.hasOwn(spec.fields, denySources.key)
  if (!isAllowing && !isDenying) return []
  const step = { kind: 'source', id: source ?? 'any' } as const
  if (source === null || plan.firstRead) {
    const which = plan.firstRead ? 'in the PROXY header, not that of the proxy,' : 'of a caller'
    const by = [...(isAllowing ? [allowSources.key] : []), ...(isDenying ? [denySources.key] : [])].join(
      ' and '
    )
    const lately = refused.get(refusal)?.isLast ? '; the last caller was refused' : ''
    const text = `the address ${which} is judged by ${by}${lately}`
    return [{ ...step, verdict: 'info', reason: null, text }]
  }
  const isIn =
    (of: Side) =>
    (form: string): boolean => {
      const belongsToRule = ({ spec: { id } }: FieldRule): boolean => id === spec.id
      const own = call.rules.having(sides[of]).find(belongsToRule)?.value.prefixes ?? []
      const listed = call.rules.having(lists).find(belongsToRule)?.value[of] ?? none[of]
      return includes(pack(own), form) || includes(listed, form)
    }
  const stop = { ...step, verdict: 'stop', reason: refusal } as const
  const forms = addressForms(source)
  if (isDenying && forms.some(isIn('deny')))
    return [{ ...stop, text: `${source} is denied by ${denySources.key}` }]
  if (isAllowing && !forms.every(isIn('allow')))
    return [{ ...stop, text: `${source} is not in ${allowSources.key}` }]
  return [{ ...step, verdict: 'pass', reason: null, text: `callers from ${source} are allowed` }]
}

export default {
  name: 'source-filter',
  agent: '^1.5.0',
  capabilities: { [capability.id]: capability.since },
  messages,
  fields: [sides.allow, sides.deny, lists],
  explain
} satisfies AgentPlugin
