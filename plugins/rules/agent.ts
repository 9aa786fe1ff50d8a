import { isDeepStrictEqual } from 'node:util'
import { type AgentCall, type AgentPlugin, defineObjectKind, type RuleSpec } from '../../agent/plugin.ts'
import { respond } from '../../kernel/wire/message.ts'
import { messages, RulePush, RuleRemove, RulesOpen, ruleKind, Settings, settingsPart } from './wire.ts'

export default {
  name: 'rules',
  agent: '^1.0.0',
  messages,
  handlers: [
    respond(RulesOpen, async ({ objects }: AgentCall) => {
      await objects.applyHeld(ruleKind)
      return {}
    })
  ],
  kinds: [
    defineObjectKind({
      kind: ruleKind,
      push: RulePush,
      readPush: ({ rule_id: id, revision, retry, held }) => ({
        id,
        revision,
        attempts: held ? 'held' : retry ? 'retry' : 'once'
      }),
      remove: RuleRemove,
      readRemove: ({ rule_id: id, revision, removal }) => ({ id, revision, removal }),
      answer: (rule_id, revision) => ({ rule_id, revision }),
      isEqual: (rule, other) => isDeepStrictEqual(contentOf(rule), contentOf(other)),
      apply: (_, push, { rules }) => rules.open(specOf(push)),
      applyOrder: (push, { rules }) => rules.applyOrderOf(specOf(push)),
      withdraw: (id, removal, { rules }) => rules.close(id, removal)
    })
  ],
  connected(stream, { rules, codec }) {
    const bytes = stream.welcomePart(settingsPart)
    if (!bytes) return
    const { drain_timeout_secs, tcp_idle_timeout_secs } = codec.decode(Settings, bytes)
    rules.configure({ drainMs: drain_timeout_secs * 1000, tcpIdleMs: tcp_idle_timeout_secs * 1000 })
  }
} satisfies AgentPlugin

/** Returns the rule without the properties of its push. */
const contentOf = ({ revision, retry, held, ...rule }: RulePush) => rule

function specOf(push: RulePush): RuleSpec {
  const { rule_id: id, owner, protocol, listen_from, listen_to, targets, prefer_ipv6, fields } = push
  return {
    id,
    owner,
    protocol,
    from: listen_from,
    to: listen_to,
    targets: targets.toSorted((a, b) => a.priority - b.priority).map(({ host, port }) => ({ host, port })),
    preferIpv6: prefer_ipv6,
    fields
  }
}
