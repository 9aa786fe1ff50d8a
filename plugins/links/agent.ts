// The agent half: keeps this agent's links up, dials targets with a path through them, and serves other entries.
import {
  type AgentCall,
  type AgentPlugin,
  defineDerivedObject,
  defineField,
  defineObjectKind
} from '../../agent/plugin.ts'
import { Refused, respond } from '../../kernel/wire/message.ts'
import { admitPart } from './agent/admit-part.ts'
import { checkHop } from './agent/check-hop.ts'
import { KeyReporter } from './agent/key-reporter.ts'
import { Lease } from './agent/lease.ts'
import { openLinkEvents } from './agent/link-events.ts'
import { LinkKeys } from './agent/link-keys.ts'
import { linkMetrics } from './agent/link-metrics.ts'
import { Links } from './agent/links.ts'
import { linkStatus, linksCommand } from './agent/links-command.ts'
import { StatusReporter } from './agent/status-reporter.ts'
import { via } from './fields.ts'
import { planPath, readPath } from './planned-path.ts'
import {
  exitObject,
  HopCheck,
  KeyRotate,
  KeySwitch,
  LinkRemove,
  LinkSet,
  LinkTest,
  linkKind,
  messages
} from './wire.ts'

interface State {
  readonly links: Links
  readonly keys: KeyReporter
  readonly status: StatusReporter
  readonly lease: Lease
}

/** By call context: a process may hold several agents. */
const states = new WeakMap<AgentCall, State>()

function stateOf(call: AgentCall): State {
  const state = states.get(call)
  if (!state) throw new Refused('not_started', 'the plugin links has not started yet')
  return state
}

const field = defineField({
  ...via,
  plan({ paths }, draft) {
    draft.targets = draft.targets.map((target, at) => {
      const path = paths.find(each => each.target === at)
      return path ? { ...target, dialer: 'links', path: planPath(path) } : target
    })
  }
})

const linkObject = defineObjectKind({
  kind: linkKind,
  push: LinkSet,
  readPush: ({ link: { id }, revision }) => ({ id, revision }),
  remove: LinkRemove,
  readRemove: change => change,
  answer: (id, revision) => ({ id, revision }),
  async apply(_, { link }, call) {
    const { links, lease } = stateOf(call)
    links.set(link)
    lease.check()
  },
  async withdraw(id, removal, call) {
    return { done: stateOf(call).links.remove(id, removal) }
  }
})

const partObject = defineDerivedObject({
  ...exitObject,
  async apply(id, part, call) {
    admitPart(part, call)
    stateOf(call).links.exits.set(id, part)
  },
  async withdraw(id, removal, call) {
    return { done: stateOf(call).links.exits.remove(id, removal) }
  }
})

export default {
  name: 'links',
  agent: '^1.7.0',
  capabilities: { [exitObject.capability.id]: exitObject.capability.since },
  messages,
  fields: [field],
  kinds: [linkObject, partObject],
  handlers: [
    respond(KeyRotate, async (call: AgentCall) => {
      stateOf(call).keys.rotate()
      return {}
    }),
    respond(KeySwitch, async (call: AgentCall, { next_pin }) => {
      stateOf(call).keys.switchTo(next_pin)
      return {}
    }),
    respond(HopCheck, async (call: AgentCall, check) => checkHop(check, stateOf(call).links, call)),
    {
      ...respond(LinkTest, (call: AgentCall, { id, bytes, secs }) =>
        stateOf(call).links.test(id, bytes, secs * 1000)
      ),
      isConcurrent: true // takes seconds; the server runs one at a time for each link
    }
  ],
  async dial({ rule, planned, offset, caller, signal }, call) {
    const asked = {
      owner: rule.owner,
      ruleId: rule.id,
      ...readPath(planned.path),
      offset,
      isProbe: caller === null,
      signal
    }
    const dialed = await stateOf(call).links.dial(asked)
    return 'reason' in dialed ? { ok: false, ...dialed } : { ok: true, ...dialed }
  },
  connected(stream, call) {
    const { keys, status, lease } = stateOf(call)
    lease.welcomed(stream.signal)
    keys.connect(stream)
    status.connect(stream)
  },
  lifecycle(phase, call) {
    if (phase === 'up') states.get(call)?.links.guardrailsChanged()
  },
  async stopping(call) {
    await stateOf(call).links.drained()
  },
  status: call => ({ links: linkStatus(stateOf(call).links.all) }),
  metrics: call => linkMetrics(stateOf(call).links.all, call.clientId),
  commands: [linksCommand(call => stateOf(call).links.all)],
  async start({ call, defer }) {
    const state = openState(call, defer)
    states.set(call, state)
    defer(() => void states.delete(call))
  }
} satisfies AgentPlugin

function openState(call: AgentCall, defer: (release: () => void) => void): State {
  const { clientId, clock, log, time, host } = call
  const { stateDir } = host
  const events = openLinkEvents(log, clock)
  defer(events.close)
  const keys = new LinkKeys({ stateDir, clock, log })
  const links = new Links({
    host: {
      clientId,
      bind: host.bind,
      clock,
      log,
      events,
      random: Math.random,
      context: () => keys.context,
      mayListen: host.mayListen,
      mayDial: host.mayDial,
      async resolve(name) {
        const answer = await host.resolve(name)
        return answer.ok ? answer.addresses : []
      }
    },
    dial: call.dial,
    allows: call.exits.allows,
    reserve: owner => call.host.reserveDescriptor(owner),
    changed: () => status.changed()
  })
  defer(() => links.close())
  const status = new StatusReporter({ links: () => links.all, clock, log })
  defer(() => status.close())
  const reporter = new KeyReporter({ keys, clientId, events, clock, log })
  defer(() => reporter.close())
  const lease = new Lease({ links, stateDir, time, clock, log })
  defer(() => lease.close())
  return { links, keys: reporter, status, lease }
}
