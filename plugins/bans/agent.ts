// The agent half: bans sources that the engine reports over a limit, and enforces these bans and the server's. Bans
// survive restarts and do not need the server.
import {
  type AgentCall,
  type AgentPlugin,
  defineField,
  defineObjectKind,
  type FieldRule,
  type SourceLimit
} from '../../agent/plugin.ts'
import type { Release } from '../../kernel/base/releases.ts'
import { newId } from '../../kernel/platform/id.ts'
import { addressSet, BanBook } from './ban-book.ts'
import { type BanLog, openBanLog } from './ban-log.ts'
import { BanRate } from './ban-rate.ts'
import { BanReporter } from './ban-reporter.ts'
import { explainBan } from './explain-ban.ts'
import { type Ban, BanRemove, BanSet, banKind, capability, key, messages, Policy, refusal } from './wire.ts'

interface RulePolicy {
  readonly policy: Policy
  readonly owner: string
}

/** State of one agent. A process can run several agents, so it is stored by their call. */
interface State {
  readonly book: BanBook
  readonly reporter: BanReporter
  readonly log: BanLog
  readonly rate: BanRate
  readonly policies: Map<string, RulePolicy> // of the rules in force, by rule id
  readonly uncut: Ban[] // in force when `enforce` runs next
  cancelNext: Release
  isDue: boolean // `enforce` runs in a moment
  enforcedAt: number // ms since 1970, by the agent's time
}

const enforceMs = 50

const states = new WeakMap<AgentCall, State>()

/** Returns the state. The first call enforces the queued bans, which the server has not stored yet. */
function openState(call: AgentCall): State {
  const known = states.get(call)
  if (known) return known
  const state: State = {
    book: new BanBook(),
    reporter: new BanReporter(call),
    log: openBanLog(call),
    rate: new BanRate(),
    policies: new Map(),
    uncut: [],
    cancelNext() {},
    isDue: false,
    enforcedAt: 0
  }
  states.set(call, state)
  for (const ban of state.reporter.restore()) addBan(ban, state)
  enforce(call)
  return state
}

/** Adds or replaces a ban. Returns false if it is evicted at once, because its rule or owner has newer ones. */
function addBan(ban: Ban, { book, reporter, policies, log }: State): boolean {
  const evicted = book.put(ban)
  if (!evicted) return true
  reporter.forget(evicted.id)
  log.evicted(evicted, policies.get(evicted.rule_id)?.owner ?? '')
  return evicted !== ban
}

/** Updates the engine's address sets and cuts connections of newly banned sources, now and when the next ban ends. */
function enforce(call: AgentCall): void {
  const state = openState(call)
  for (const { set, ...change } of state.book.takeChanges(call.time.now())) call.changeAddresses(set, change)
  cutLive(state.uncut.splice(0), call)
  state.isDue = false
  state.enforcedAt = call.time.now()
  void state.cancelNext()
  const next = state.book.nextDue()
  state.cancelNext = next === null ? () => {} : call.time.at(next, () => enforce(call))
}

/** Enforces bans of rules together, at most once in 50 ms: each time, the engine looks at all rules and connections. */
function enforceSoon(call: AgentCall): void {
  const state = openState(call)
  if (state.isDue) return
  state.isDue = true
  void state.cancelNext()
  const now = call.time.now()
  const due = Math.max(now, state.enforcedAt + enforceMs)
  state.cancelNext = call.time.at(
    Math.min(due, now + enforceMs), // the clock may be set back
    () => enforce(call)
  )
}

/** Cuts the connections of all sources of a rule together, since the engine looks through its connections each time. */
function cutLive(bans: readonly Ban[], call: AgentCall): void {
  const now = call.time.now()
  const due = bans.filter(({ live, until_ms }) => live === 'cut' && now < until_ms)
  for (const [ruleId, some] of Map.groupBy(due, ({ rule_id }) => rule_id)) {
    const rule = ruleId === '' ? null : ({ id }: { readonly id: string }) => id === ruleId
    call.connections.end({ rule, ids: null, sources: some.map(({ source }) => source), target: null })
  }
}

/** Enforces a ban of the server. */
function putBan(ban: Ban, call: AgentCall): void {
  const state = openState(call)
  const isNew = state.book.get(ban.id) === undefined
  if (addBan(ban, state) && isNew) state.uncut.push(ban)
  enforce(call)
}

const limitName = (cause: Ban['cause'], ruleId: string): string => `bans ${cause} ${ruleId}`

function* sourceLimits(ruleId: string, policy: Policy): Generator<SourceLimit> {
  const perMs = policy.within_secs * 1000
  const { new_connections, failed_handshakes } = policy
  if (new_connections !== undefined)
    yield {
      name: limitName('new_connections', ruleId),
      of: 'new',
      max: new_connections,
      perMs,
      refusal: null
    }
  if (failed_handshakes !== undefined)
    yield {
      name: limitName('failed_handshakes', ruleId),
      of: 'failed',
      max: failed_handshakes,
      perMs,
      refusal: null
    }
}

const field = defineField({
  key,
  message: Policy,
  plan(policy, draft, { id }) {
    draft.sourceLimits = [...sourceLimits(id, policy), ...draft.sourceLimits] // ahead of the limits that refuse
  },
  opened: setPolicy,
  changed: setPolicy,
  gone({ spec: { id } }, call) {
    const { book, policies, rate } = openState(call)
    const owner = policies.get(id)?.owner
    policies.delete(id)
    if (owner !== undefined && ![...policies.values()].some(other => other.owner === owner))
      rate.forget(owner)
    book.shares.forgetOwner(id)
  }
})

function setPolicy({ spec: { id, owner }, value: policy }: FieldRule<typeof Policy.body>, call: AgentCall) {
  const { book, policies } = openState(call)
  policies.set(id, { policy, owner })
  book.shares.setOwner(id, owner)
}

/** Bans a source that exceeded a limit of the rule. */
function makeBan(source: string, limit: string, ruleId: string, call: AgentCall): void {
  const state = openState(call)
  const { policy, owner } = state.policies.get(ruleId) ?? {}
  const cause = (['new_connections', 'failed_handshakes'] as const).find(
    one => limitName(one, ruleId) === limit
  )
  const now = Math.floor(call.time.now())
  if (!policy || owner === undefined || !cause || state.book.isBanned(source, ruleId, now)) return
  if (!state.rate.take(owner, now)) return
  const next = state.book.nextBan(source, ruleId, policy, now)
  const ban: Ban = { id: newId(now), source, rule_id: ruleId, cause, live: policy.live, ...next }
  if (!addBan(ban, state)) return
  state.reporter.add(ban, owner)
  state.log.made(ban, owner)
  state.uncut.push(ban)
  enforceSoon(call)
}

export default {
  name: 'bans',
  agent: '^1.5.0',
  capabilities: { [capability.id]: capability.since },
  messages,
  fields: [field],
  plan(draft, { id }) {
    const guard = { allow: null, deny: [addressSet(''), addressSet(id)], live: 'keep', refusal } as const
    draft.addressGuards = [guard, ...draft.addressGuards]
  },
  kinds: [
    defineObjectKind({
      kind: banKind,
      isLimit: true,
      push: BanSet,
      readPush: ({ ban: { id }, revision }) => ({ id, revision }),
      remove: BanRemove,
      readRemove: ({ id, revision }) => ({ id, revision, removal: 'cut' }),
      answer: (id, revision) => ({ id, revision }),
      async apply(_, { ban }, call) {
        putBan(ban, call)
      },
      async withdraw(id, _, call) {
        const { book, reporter } = openState(call)
        book.delete(id)
        reporter.forget(id)
        enforce(call)
        return { done: Promise.resolve() }
      }
    })
  ],
  event(event, call) {
    if (event.kind !== 'source-over') return
    const rule = call.rules.find(event.ruleId)
    if (rule) makeBan(event.source, event.limit, rule.id, call)
  },
  explain: (asked, call) => explainBan(openState(call).book, asked, call.time.now()),
  connected(stream, call) {
    openState(call).reporter.connect(stream)
  },
  metrics(call) {
    const bans = openState(call).book.inForce(call.time.now())
    return [
      {
        name: 'in_force',
        type: 'gauge',
        help: 'Sources that are banned now, by cause.',
        labels: ['cause'],
        samples: (['operator', 'new_connections', 'failed_handshakes'] as const).map(cause => ({
          labelValues: [cause],
          value: bans.filter(ban => ban.cause === cause).length
        }))
      }
    ]
  },
  async start({ call, defer }) {
    const state = openState(call)
    defer(() => {
      state.reporter.close()
      return state.cancelNext()
    })
  }
} satisfies AgentPlugin
