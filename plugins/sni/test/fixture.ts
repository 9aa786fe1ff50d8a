// A server with SNI rules, a client that supports them, and two users with grants.
import type { Test } from 'tap'
import { fieldMessage } from '../../../agent/wire/rule-field.ts'
import type { Script } from '../../../kit/scripted-agent.ts'
import { rule, rulesFixture } from '../../rules/test/fixture.ts'
import { messages as ruleMessages } from '../../rules/wire.ts'
import { fields, sniPattern } from '../fields.ts'
import { messages } from '../wire.ts'

export const plugins = ['users', 'clients', 'rules', 'grants', 'port-range', 'udp', 'sni']

export const capableAgent: Partial<Script> = {
  capabilities: {
    [sniPattern.capability.id]: sniPattern.capability.since,
    'rule.range': '1.0.0',
    'rule.udp': '1.0.0'
  },
  messages: [...ruleMessages, ...messages, ...fields.map(fieldMessage)]
}

export async function sniFixture(t: Test) {
  const on = await rulesFixture(t, { plugins })
  const clientId = await on.enroll()
  const agent = await on.connect(clientId, capableAgent)
  const headers = { operator: {}, ada: await on.user('ada'), bob: await on.user('bob') }
  for (const user_id of ['ada', 'bob'])
    await on.call('POST', '/v1/grants', {
      user_id,
      client_id: clientId,
      listen_port_start: 1,
      listen_port_end: 65535,
      protocols: ['tcp']
    })
  const pushRule = (body: object, by: keyof typeof headers = 'operator') =>
    on.call<{ rule_id: string; error: { code: string } }>(
      'POST',
      '/v1/rules',
      { ...rule, ...body },
      headers[by]
    )
  /** Pushes a rule. Returns 'created' or the error code. */
  const outcome = async (body: object, by?: keyof typeof headers): Promise<string> => {
    const { status, body: answer } = await pushRule(body, by)
    return status === 201 ? 'created' : answer.error.code
  }
  return { on, clientId, agent, pushRule, outcome }
}
