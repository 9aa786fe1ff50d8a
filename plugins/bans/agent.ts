// The agent half: makes bans where the engine names a source that goes beyond a limit of its rule, and keeps them, and
// those of the server, over restarts and without the server.
import {
  type AgentCall,
  type AgentPlugin,
  type AgentQueue,
  type AskedCaller,
  type ControlStream,
  defineField,
  defineObjectKind,
  type ExplainStep,
  type SourceLimit
} from '../../agent/plugin.ts'
import { timestamp } from '../../kernel/base/clock.ts'
import { newId } from '../../kernel/base/id.ts'
import type { Release } from '../../kernel/base/releases.ts'
import { addressSet, BanBook } from './ban-book.ts'
import {
  type Ban,
  BanRemove,
  BanSet,
  banKind,
  capability,
  key,
  maxReported,
  messages,
  Policy,
  Report,
  refusal
} from './wire.ts'

const retryMs = 60_000
const maxQueued = 10_000 // of a queue

/** What the plugin keeps for one agent, by its call: a process may hold several agents. */
interface State {
  readonly book: BanBook
  readonly queue: AgentQueue // bans that the server has not stored yet
  report: () => void
  cancelEnd: Release
}

const states = new WeakMap<AgentCall, State>()

/** What the server has not stored yet is in force from the first use on. */
function openState(call: AgentCall): State {
  const known = states.get(call)
  if (known) return known
  const state: State = { book: new BanBook(), queue: call.queue('bans'), report() {}, cancelEnd() {} }
  states.set(call, state)
  for (const { item } of state.queue.first(maxQueued)) state.book.put(JSON.parse(item) as Ban) // as `make` has made it
  enforce(call)
  return state
}

/** Brings the sets of the engine up to date, now and when the next ban ends. */
function enforce(call: AgentCall): void {
  const state = openState(call)
  const now = call.time.now()
  state.book.forget(now)
  for (const { set, ...change } of state.book.takeChanges(now)) call.changeAddresses(set, change)
  void state.cancelEnd()
  const end = state.book.nextEnd(now)
  state.cancelEnd = end === null ? () => {} : call.time.at(end, () => enforce(call))
}

/** Puts a ban in force, and cuts the live connections of the source where it says so. */
function putBan(ban: Ban, call: AgentCall): void {
  const { book } = openState(call)
  const isNew = book.get(ban.id) === undefined
  const gone = book.put(ban)
  if (gone)
    call.log.warn('ban.forgotten', `there are too many bans: that of ${gone.source} ends before its time`, {
      ban: gone.id
    })
  enforce(call)
  if (!isNew || ban.live !== 'cut' || ban.until_ms <= call.time.now()) return
  const rule = ban.rule_id === '' ? null : ({ id }: { readonly id: string }) => id === ban.rule_id
  call.connections.end({ rule, ids: null, source: ban.source, target: null })
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
    draft.sourceLimits = [...sourceLimits(id, policy), ...draft.sourceLimits] // before those that refuse
  }
})

/** Bans a source that has gone beyond a limit of the rule. */
function makeBan(source: string, limit: string, ruleId: string, call: AgentCall): void {
  const rule = call.rules.having(field).find(({ spec: { id } }) => id === ruleId)
  const cause = (['new_connections', 'failed_handshakes'] as const).find(
    one => limitName(one, ruleId) === limit
  )
  const { book, queue, report } = openState(call)
  const now = Math.floor(call.time.now())
  if (!rule || !cause || book.isBanned(source, ruleId, now)) return
  const { live } = rule.value
  const ban: Ban = {
    id: newId(now),
    source,
    rule_id: ruleId,
    cause,
    live,
    ...book.nextBan(source, ruleId, rule.value, now)
  }
  queue.push(JSON.stringify(ban))
  putBan(ban, call)
  const secs = Math.round((ban.until_ms - now) / 1000)
  call.log.info('ban.made', `${source} is banned for ${secs} s: ${cause}`, {
    rule: ruleId,
    source,
    times: ban.times
  })
  report()
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
        openState(call).book.delete(id)
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
  explain,
  connected(stream, call) {
    const state = openState(call)
    state.report = openReporter(stream, call)
    stream.signal.addEventListener('abort', call.clock.every(retryMs, state.report), { once: true })
    state.report()
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
    openState(call)
    defer(() => openState(call).cancelEnd())
  }
} satisfies AgentPlugin

/** What bans do to a caller. Behind a proxy it is the address that the header gives that is banned. */
function explain({ path: { spec, plan }, source, refused }: AskedCaller, call: AgentCall): ExplainStep[] {
  const { book } = openState(call)
  const now = call.time.now()
  const bans = book.bansOn(spec.id, now)
  if (bans.length === 0) return []
  const ban = source === null || plan.firstRead ? undefined : book.longestBan(source, spec.id, now)
  if (ban) {
    const { id, source: banned, until_ms, cause, rule_id } = ban
    const from = rule_id === '' ? 'all rules of the client' : 'this rule'
    const text = `${banned} is banned from ${from} until ${timestamp(until_ms)} by ${causeTexts[cause]}: \`sluice ban list\` has the reason, \`sluice ban remove ${banned}\` lifts it`
    return [{ kind: 'ban', id, verdict: 'stop', reason: refusal, text }]
  }
  const whose = plan.firstRead ? '; the address in the PROXY header counts, not that of the proxy' : ''
  const lately = refused.get(refusal)?.isLast ? '; the last caller was one of them' : ''
  const text = `${bans.length} ${bans.length === 1 ? 'source is' : 'sources are'} banned from it now${lately}${whose}`
  return [{ kind: 'ban', id: spec.id, verdict: 'info', reason: null, text }]
}

const causeTexts = {
  operator: 'an operator',
  new_connections: 'the agent, for too many new connections',
  failed_handshakes: 'the agent, for wrong handshakes'
} as const satisfies Record<Ban['cause'], string>

/** Returns the function that sends what the queue has, until it is empty. What the server has stored leaves the queue. */
function openReporter(stream: ControlStream, call: AgentCall): () => void {
  const { queue } = openState(call)
  let last = Promise.resolve()

  async function send(): Promise<void> {
    for (let items = queue.first(maxReported); items.length > 0; items = queue.first(maxReported)) {
      const bans = items.map(({ item }) => JSON.parse(item) as Ban)
      await stream.request(Report, { bans })
      queue.removeUntil(items.at(-1)?.seq ?? 0)
    }
  }

  const logFailed = (error: unknown): void => {
    if (stream.signal.aborted) return
    call.log.warn('ban.report_failed', `bans were not reported, retrying in a minute: ${String(error)}`)
  }
  return () => {
    last = last.then(() => (stream.signal.aborted ? undefined : send())).catch(logFailed)
  }
}
