import { isDeepStrictEqual } from 'node:util'
import {
  type AgentCall,
  type AgentPlugin,
  type ControlStream,
  defineObjectKind,
  type RuleSpec
} from '../../agent/plugin.ts'
import { respond } from '../../kernel/wire/message.ts'
import {
  maxClosed,
  messages,
  RulePush,
  RuleRemove,
  RulesClosed,
  RulesOpen,
  ruleKind,
  Settings,
  settingsPart,
  updateCapability
} from './wire.ts'

export default {
  name: 'rules',
  agent: '^1.0.0',
  capabilities: { [updateCapability.id]: updateCapability.since },
  messages,
  handlers: [
    respond(RulesOpen, async ({ objects }: AgentCall) => {
      await objects.applyDeferred(ruleKind)
      return {}
    })
  ],
  kinds: [
    defineObjectKind({
      kind: ruleKind,
      push: RulePush,
      readPush: ({ rule_id: id, revision, retry, deferred }) => ({
        id,
        revision,
        attempts: deferred ? 'deferred' : retry ? 'retry' : 'once'
      }),
      remove: RuleRemove,
      readRemove: ({ rule_id: id, revision, removal }) => ({ id, revision, removal }),
      answer: (rule_id, revision) => ({ rule_id, revision }),
      isEqual: (rule, other) => isDeepStrictEqual(ruleContent(rule), ruleContent(other)),
      apply: (_, push, { rules }) => rules.open(toSpec(push)),
      applyOrder: (push, { rules }) => rules.applyOrderOf(toSpec(push)),
      withdraw: (id, removal, { rules }) => rules.close(id, removal)
    })
  ],
  connected(stream, call) {
    const { rules, codec } = call
    reportClosed(stream, call)
    const bytes = stream.welcomePart(settingsPart)
    if (!bytes) return
    const { drain_timeout_secs, tcp_idle_timeout_secs } = codec.decode(Settings, bytes)
    rules.configure({ drainMs: drain_timeout_secs * 1000, tcpIdleMs: tcp_idle_timeout_secs * 1000 })
  }
} satisfies AgentPlugin

const reportMs = 1000

/** Reports all closed rules at first, then the changes of each second. */
function reportClosed(stream: ControlStream, { rules, clock }: AgentCall): void {
  let reported: ReadonlyMap<string, string> = new Map()
  const report = (): void => {
    const closed = rules.closed()
    const changed = [...new Set([...reported.keys(), ...closed.keys()])]
      .map(rule_id => ({ rule_id, reason: closed.get(rule_id) ?? '' }))
      .filter(({ rule_id, reason }) => reason !== (reported.get(rule_id) ?? ''))
    reported = closed
    for (let at = 0; at < changed.length; at += maxClosed)
      stream.send(RulesClosed, { rules: changed.slice(at, at + maxClosed) })
  }
  report()
  stream.signal.addEventListener('abort', clock.every(reportMs, report), { once: true })
}

/** Returns the rule without properties of the push itself. */
const ruleContent = ({ revision, retry, deferred, ...rule }: RulePush) => rule

function toSpec(push: RulePush): RuleSpec {
  const { rule_id: id, owner, protocol, listen_from, listen_to, targets, prefer_ipv6, fields } = push
  const { paused = false, existing = 'keep' } = push
  return {
    id,
    owner,
    protocol,
    from: listen_from,
    to: listen_to,
    targets: targets.toSorted((a, b) => a.priority - b.priority).map(({ host, port }) => ({ host, port })),
    preferIpv6: prefer_ipv6,
    fields,
    paused,
    existing
  }
}
