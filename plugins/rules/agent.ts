import type { AgentApplyResult, AgentCall, AgentPlugin, RuleSpec } from '../../agent/plugin.ts'
import { type Codec, Refused, respond } from '../../kernel/wire/message.ts'
import { messages, RulePush, RuleRemove, ruleKind, Settings, settingsPart } from './wire.ts'

export default {
  name: 'rules',
  agent: '^1.0.0',
  messages,
  handlers: [
    respond(RulePush, async ({ objects, codec }: AgentCall, { revision, retry, ...rule }) => {
      const { rule_id: id } = rule
      // Without what is only of this push: an equal rule is equal bytes, whatever its revision.
      const bytes = codec.encode(RulePush, { ...rule, revision: 0, retry: false })
      const object = { kind: ruleKind, id, revision, bytes }
      return taken(id, await objects.put(object, retry ? 'retry' : 'once'))
    }),
    respond(RuleRemove, async ({ objects }: AgentCall, { rule_id: id, revision, removal }) =>
      taken(id, await objects.drop({ kind: ruleKind, id, revision }, removal))
    )
  ],
  kinds: [
    {
      kind: ruleKind,
      apply: (_, bytes, { rules, codec }) => rules.open(specOf(bytes, codec)),
      applyOrder: (bytes, { rules, codec }) => rules.applyOrderOf(specOf(bytes, codec)),
      withdraw: (id, removal, { rules }) => rules.close(id, removal)
    }
  ],
  connected(stream, { rules, codec }) {
    const bytes = stream.welcomePart(settingsPart)
    if (!bytes) return
    const { drain_timeout_secs, tcp_idle_timeout_secs } = codec.decode(Settings, bytes)
    rules.configure({ drainMs: drain_timeout_secs * 1000, tcpIdleMs: tcp_idle_timeout_secs * 1000 })
  }
} satisfies AgentPlugin

function taken(rule_id: string, verdict: AgentApplyResult) {
  if (verdict.status === 'refused') throw new Refused(verdict.code, verdict.message)
  return { rule_id, revision: verdict.revision }
}

function specOf(bytes: Uint8Array, codec: Codec): RuleSpec {
  const {
    rule_id: id,
    owner,
    protocol,
    listen_from,
    listen_to,
    targets,
    prefer_ipv6,
    fields
  } = codec.decode(RulePush, bytes)
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
