// A server with limits, a user, and a client with an agent that supports limits.
import type { Test } from 'tap'
import { type Script, type ScriptedAgent, scriptedResponse } from '../../../kit/scripted-agent.ts'
import type { Reply, TestServerOptions } from '../../../kit/test-server.ts'
import type { RuleRecord } from '../../rules/exports.ts'
import { type ErrorReply, type RulesFixture, ruleResponses, rulesFixture } from '../../rules/test/fixture.ts'
import { messages as rulesMessages } from '../../rules/wire.ts'
import type { EnvelopeRow } from '../schema.ts'
import { capability, EnvelopeRemove, EnvelopeSet, key, Limits, messages } from '../wire.ts'

export const plugins = ['users', 'clients', 'rules', 'rate-limit']

export const supportingAgent: Partial<Script> = {
  capabilities: { [capability.id]: capability.since },
  messages: [...rulesMessages, ...messages],
  responses: [
    ...ruleResponses,
    scriptedResponse(EnvelopeSet, ({ owner_id, revision }) => ({ owner_id, revision })),
    scriptedResponse(EnvelopeRemove, ({ owner_id, revision }) => ({ owner_id, revision }))
  ]
}

export const refusal = (status: number, code: string) => ({ status, body: { error: { code } } })

export interface RateLimitFixture extends RulesFixture {
  readonly clientId: string
  readonly agent: ScriptedAgent
  readonly ann: { readonly authorization: string }
  put(rule: string, body: object): Promise<Reply<RuleRecord & ErrorReply>>
  setEnvelope(body: object, owner?: string): Promise<Reply<EnvelopeRow & ErrorReply>>
}

export async function rateLimitFixture(t: Test, options: TestServerOptions = {}): Promise<RateLimitFixture> {
  const on = await rulesFixture(t, { plugins, ...options })
  const clientId = await on.enroll()
  const agent = await on.connect(clientId, supportingAgent)
  const ann = await on.user('ann')
  return {
    ...on,
    clientId,
    agent,
    ann,
    put: (rule, body) => on.call('PUT', `/v1/rules/${rule}`, body),
    setEnvelope: (body, owner = 'ann') =>
      on.call('PUT', `/v1/clients/${clientId}/owners/${owner}/rate-limit`, body)
  }
}

/** Returns the limits of the rule as last pushed to the agent; null if it has none. */
export function pushedLimits(
  { agent, server }: Pick<RateLimitFixture, 'agent' | 'server'>,
  ruleId: string
): Limits | null {
  const push = agent.received.findLast(({ body }) => body['rule_id'] === ruleId && 'fields' in body)
  const { [key]: bytes } = (push?.body['fields'] ?? {}) as Record<string, Uint8Array>
  return bytes ? server.depsOf('rules').codec.decode(Limits, bytes) : null
}
