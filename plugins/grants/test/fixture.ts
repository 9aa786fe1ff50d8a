// A server with rules and grants, a user, and a client with an agent that supports target filters.
import type { Test } from 'tap'
import type { ScriptedAgent } from '../../../kit/scripted-agent.ts'
import type { Reply, TestServerOptions } from '../../../kit/test-server.ts'
import type { RuleRecord } from '../../rules/exports.ts'
import { type ErrorReply, type RulesFixture, rule, rulesFixture } from '../../rules/test/fixture.ts'
import { messages } from '../../rules/wire.ts'
import type { GrantRow } from '../schema.ts'
import { capability, Targets } from '../wire.ts'

export const plugins = ['users', 'clients', 'rules', 'grants']
export const capableAgent = {
  capabilities: { [capability.id]: capability.since },
  messages: [...messages, Targets]
}

export const refusal = (status: number, code: string) => ({ status, body: { error: { code } } })

export interface GrantsFixture extends RulesFixture {
  readonly clientId: string
  readonly agent: ScriptedAgent
  grant(body?: object): Promise<Reply<GrantRow & ErrorReply>>
  /** Pushes a rule as the user ada. */
  pushAsAda(body?: object): Promise<Reply<RuleRecord & ErrorReply>>
  readonly ada: { readonly authorization: string }
}

export async function grantsFixture(t: Test, options: TestServerOptions = {}): Promise<GrantsFixture> {
  const app = await rulesFixture(t, { plugins, ...options })
  const clientId = await app.enroll()
  const agent = await app.connect(clientId, capableAgent)
  const ada = await app.user('ada')
  return {
    ...app,
    clientId,
    agent,
    ada,
    grant: (body = {}) =>
      app.call('POST', '/v1/grants', {
        user_id: 'ada',
        ...('client' in body ? {} : { client_id: clientId }),
        listen_port_start: 8000,
        listen_port_end: 8999,
        protocols: ['tcp'],
        ...body
      }),
    pushAsAda: (body = {}) => app.call('POST', '/v1/rules', { ...rule, ...body }, ada)
  }
}

/** Returns the target list in the rule's last push to the agent; null: any target. */
export function lastSentTargets({ agent, server }: GrantsFixture, ruleId: string) {
  const push = agent.received.findLast(({ body }) => body['rule_id'] === ruleId && 'fields' in body)
  const { grant_targets: bytes } = (push?.body['fields'] ?? {}) as Record<string, Uint8Array>
  return bytes ? server.depsOf('rules').codec.decode(Targets, bytes).allow : null
}
