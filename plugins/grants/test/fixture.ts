// A server with rules and grants, a client whose agent can filter, and a user.
import type { Test } from 'tap'
import type { ScriptedAgent } from '../../../kit/scripted-agent.ts'
import type { Reply, TestServerOptions } from '../../../kit/test-server.ts'
import type { RuleRecord } from '../../rules/exports.ts'
import { type Answered, type RulesFixture, rule, rulesFixture } from '../../rules/test/fixture.ts'
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
  grant(body?: object): Promise<Reply<GrantRow & Answered>>
  /** Pushes a rule as the user ada. */
  pushAsAda(body?: object): Promise<Reply<RuleRecord & Answered>>
  readonly ada: { readonly authorization: string }
}

export async function grantsFixture(t: Test, plan: TestServerOptions = {}): Promise<GrantsFixture> {
  const on = await rulesFixture(t, { plugins, ...plan })
  const clientId = await on.enroll()
  const agent = await on.connect(clientId, capableAgent)
  const ada = await on.user('ada')
  return {
    ...on,
    clientId,
    agent,
    ada,
    grant: (body = {}) =>
      on.call('POST', '/v1/grants', {
        user_id: 'ada',
        ...('client' in body ? {} : { client_id: clientId }),
        listen_port_start: 8000,
        listen_port_end: 8999,
        protocols: ['tcp'],
        ...body
      }),
    pushAsAda: (body = {}) => on.call('POST', '/v1/rules', { ...rule, ...body }, ada)
  }
}

/** The target list of the rule that was last sent to the agent; null: any target. */
export function lastSentTargets({ agent, server }: GrantsFixture, ruleId: string) {
  const push = agent.received.findLast(({ body }) => body['rule_id'] === ruleId && 'fields' in body)
  const { grant_targets: bytes } = (push?.body['fields'] ?? {}) as Record<string, Uint8Array>
  return bytes ? server.depsOf('rules').codec.decode(Targets, bytes).allow : null
}
