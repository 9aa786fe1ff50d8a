// The agent half: bans sources that the engine reports over a limit, and enforces these bans and the server's. Bans
// survive restarts and do not need the server.
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
const maxQueued = 10_000 // capacity of a queue

/** State of one agent. A process can run several agents, so it is stored by their call. */
interface State {
  readonly book: BanBook
  readonly queue: AgentQueue // bans to report to the server
  report: () => void
  cancelEnd: Release
}

const states = new WeakMap<AgentCall, State>()

/** Returns the state. The first call enforces the queued bans, which the server has not stored yet. */
function openState(call: AgentCall): State {
  const known = states.get(call)
  if (known) return known
  const state: State = { book: new BanBook(), queue: call.queue('bans'), report() {}, cancelEnd() {} }
  states.set(call, state)
  for (const { item } of state.queue.first(maxQueued)) state.book.put(JSON.parse(item) as Ban) // as `makeBan` wrote it
  enforce(call)
  return state
}

/** Updates the engine's address sets, now and when the next ban ends. */
function enforce(call: AgentCall): void {
  const state = openState(call)
  const now = call.time.now()
  state.book.forget(now)
  for (const { set, ...change } of state.book.takeChanges(now)) call.changeAddresses(set, change)
  void state.cancelEnd()
  const end = state.book.nextEnd(now)
  state.cancelEnd = end === null ? () => {} : call.time.at(end, () => enforce(call))
}

/** Enforces a ban. Closes the source's live connections if the ban has `live: 'cut'`. */
function putBan(ban: Ban, call: AgentCall): void {
  const { book } = openState(call)
  const isNew = book.get(ban.id) === undefined
  const evicted = book.put(ban)
  if (evicted)
    call.log.warn('ban.forgotten', `too many bans: the ban of ${evicted.source} ends early`, {
      ban: evicted.id
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
    draft.sourceLimits = [...sourceLimits(id, policy), ...draft.sourceLimits] // ahead of the limits that refuse
  }
})

/** Bans a source that exceeded a limit of the rule. */
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

/** Explains how bans affect a caller. Behind a proxy, bans apply to the address in the PROXY header. */
function explain({ path: { spec, plan }, source, refused }: AskedCaller, call: AgentCall): ExplainStep[] {
  const { book } = openState(call)
  const now = call.time.now()
  const bans = book.bansOn(spec.id, now)
  if (bans.length === 0) return []
  const ban = source === null || plan.firstRead ? undefined : book.longestBan(source, spec.id, now)
  if (ban) {
    const { id, source: banned, until_ms, cause, rule_id } = ban
    const from = rule_id === '' ? 'all rules of the client' : 'this rule'
    const text = `${banned} is banned from ${from} until ${timestamp(until_ms)} by ${causeTexts[cause]}: \`sluice ban list\` shows the reason, \`sluice ban remove ${banned}\` lifts it`
    return [{ kind: 'ban', id, verdict: 'stop', reason: refusal, text }]
  }
  const addressHint = plan.firstRead
    ? '; bans apply to the address in the PROXY header, not to the proxy'
    : ''
  const lately = refused.get(refusal)?.isLast ? '; the last caller was banned' : ''
  const text = `${bans.length} ${bans.length === 1 ? 'source is' : 'sources are'} banned from it now${lately}${addressHint}`
  return [{ kind: 'ban', id: spec.id, verdict: 'info', reason: null, text }]
}

const causeTexts = {
  operator: 'an operator',
  new_connections: 'the agent, for too many new connections',
  failed_handshakes: 'the agent, for failed handshakes'
} as const satisfies Record<Ban['cause'], string>

/** Returns a function that sends the queued bans in batches. A batch leaves the queue once the server has stored it. */
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
    call.log.warn('ban.report_failed', `could not report bans, retrying in a minute: ${String(error)}`)
  }
  return () => {
    last = last.then(() => (stream.signal.aborted ? undefined : send())).catch(logFailed)
  }
}
