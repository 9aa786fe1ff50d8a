// The agent half: while the switch is on, every rule is planned tighter. It is kept over restarts, and ends by the server's
// time, with or without the server.
import {
  type AgentCall,
  type AgentPlugin,
  type AskedCaller,
  defineObjectKind,
  type ExplainStep
} from '../../agent/plugin.ts'
import { timestamp } from '../../kernel/base/clock.ts'
import type { Release } from '../../kernel/base/releases.ts'
import { tightenRule } from './tighten-rule.ts'
import { capability, messages, refusal, type Switch, SwitchRemove, SwitchSet, switchKind } from './wire.ts'

interface State {
  on: Switch | null // also one that has ended
  cancelEnd: Release
}

/** By the call of an agent: a process may hold several. */
const states = new WeakMap<AgentCall, State>()

function openState(call: AgentCall): State {
  const state = states.get(call) ?? { on: null, cancelEnd() {} }
  states.set(call, state)
  return state
}

/** The switch, while it is on. */
function currentSwitch(call: AgentCall): Switch | null {
  const { on } = openState(call)
  return on && call.time.now() < on.until_ms ? on : null
}

/** Turns the switch on, or off, and plans all rules anew. */
async function turn(on: Switch | null, call: AgentCall): Promise<void> {
  const state = openState(call)
  const before = currentSwitch(call)
  void state.cancelEnd()
  state.on = on
  const now = currentSwitch(call)
  state.cancelEnd = now ? call.time.at(now.until_ms, () => end(call)) : () => {}
  if (now) {
    const until = timestamp(now.until_ms)
    call.log.warn('under_attack.on', `limits for each source are tight until ${until}`, { until })
  } else if (before) logOff(call)
  await call.rules.replan()
}

async function end(call: AgentCall): Promise<void> {
  logOff(call)
  await call.rules.replan()
}

const logOff = ({ log }: AgentCall): void =>
  log.info('under_attack.off', 'limits for each source are those of the rules again')

/** What the switch does to a caller. Limits that rules have of their own are told of by their plugins. */
function explain({ path: { plan }, source, open, refused }: AskedCaller, call: AgentCall): ExplainStep[] {
  const on = currentSwitch(call)
  if (!on) return []
  const step = { kind: 'under_attack', id: on.id } as const
  const until = `the switch "under attack" is on until ${timestamp(on.until_ms)}`
  const own = plan.sourceLimits.filter(limit => limit.refusal === refusal)
  const atOnce = own.find(({ of }) => of === 'open')
  const fresh = own.find(({ of }) => of === 'new')
  const stop = (text: string): ExplainStep[] => [
    { ...step, verdict: 'stop', reason: refusal, text: `${until}: ${text}` }
  ]
  const isAsked = source !== null && !plan.firstRead
  if (isAsked && atOnce && open >= atOnce.max)
    return stop(`${source} has ${open} connections open of ${atOnce.max}, a new one is refused`)
  const lately = refused.get(refusal)
  // Of UDP the replies that the switch caps count under the same reason.
  if (isAsked && fresh && plan.protocol === 'tcp' && lately?.isLast && lately.agoMs < fresh.perMs)
    return stop(`the last caller was refused, a source may begin ${fresh.max} in ${fresh.perMs / 1000} s`)
  const limits = atOnce
    ? `a source may have ${atOnce.max} connections, and begin ${fresh?.max} in ${on.within_secs} s`
    : 'the limits of the rule for a source are a quarter of what they were'
  return [{ ...step, verdict: 'info', reason: null, text: `${until}: ${limits}` }]
}

export default {
  name: 'under-attack',
  agent: '^1.5.0',
  capabilities: { [capability.id]: capability.since },
  messages,
  tighten(draft, rule, call) {
    const on = currentSwitch(call)
    if (on) tightenRule(draft, rule, on)
  },
  kinds: [
    defineObjectKind({
      kind: switchKind,
      isLimit: true,
      push: SwitchSet,
      readPush: ({ id, revision }) => ({ id, revision }),
      remove: SwitchRemove,
      readRemove: ({ id, revision }) => ({ id, revision, removal: 'cut' }),
      answer: (id, revision) => ({ id, revision }),
      apply: (_, on, call) => turn(on, call),
      async withdraw(_id, _removal, call) {
        await turn(null, call)
        return { done: Promise.resolve() }
      }
    })
  ],
  explain,
  metrics: call => [
    {
      name: 'on',
      type: 'gauge',
      help: 'Whether the switch "under attack" is on.',
      labels: [],
      samples: [{ labelValues: [], value: currentSwitch(call) ? 1 : 0 }]
    }
  ],
  async start({ call, defer }) {
    openState(call)
    defer(() => openState(call).cancelEnd())
  }
} satisfies AgentPlugin
