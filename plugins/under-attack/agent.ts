// The agent half: while the switch is on, every rule gets tighter limits. The switch survives restarts, and ends by the
// server's time, with or without the server.
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
  on: Switch | null // may have ended
  cancelEnd: Release
}

/** State by the call of an agent: a process can run several agents. */
const states = new WeakMap<AgentCall, State>()

function openState(call: AgentCall): State {
  const state = states.get(call) ?? { on: null, cancelEnd() {} }
  states.set(call, state)
  return state
}

/** Returns the switch, or null while it is off. */
function currentSwitch(call: AgentCall): Switch | null {
  const { on } = openState(call)
  return on && call.time.now() < on.until_ms ? on : null
}

/** Turns the switch on or off, and plans all rules again. */
async function turn(on: Switch | null, call: AgentCall): Promise<void> {
  const state = openState(call)
  const before = currentSwitch(call)
  void state.cancelEnd()
  state.on = on
  const now = currentSwitch(call)
  state.cancelEnd = now ? call.time.at(now.until_ms, () => end(call)) : () => {}
  if (now) {
    const until = timestamp(now.until_ms)
    call.log.warn('under_attack.on', `per-source limits are tightened until ${until}`, { until })
  } else if (before) logOff(call)
  await call.rules.replan()
}

async function end(call: AgentCall): Promise<void> {
  logOff(call)
  await call.rules.replan()
}

const logOff = ({ log }: AgentCall): void =>
  log.info('under_attack.off', 'the rules have their own per-source limits again')

/** Explains how the switch affects a caller. Other plugins explain the rules' own limits. */
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
  // On UDP, replies capped by the switch count under the same reason.
  if (isAsked && fresh && plan.protocol === 'tcp' && lately?.isLast && lately.agoMs < fresh.perMs)
    return stop(`the last caller was refused, a source may open ${fresh.max} in ${fresh.perMs / 1000} s`)
  const limits = atOnce
    ? `a source may have ${atOnce.max} open connections and open ${fresh?.max} in ${on.within_secs} s`
    : 'the per-source limits of the rule are a quarter of their values'
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
