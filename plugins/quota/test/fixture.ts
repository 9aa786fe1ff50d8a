// A server with quotas and stats, a user, and a client with an agent that supports quotas.
import type { Test } from 'tap'
import { messages as statsMessages } from '../../../agent/wire/journal-report.ts'
import { type Script, type ScriptedAgent, scriptedResponse } from '../../../kit/scripted-agent.ts'
import type { Reply, TestServerOptions } from '../../../kit/test-server.ts'
import { type ErrorReply, ruleResponses } from '../../rules/test/fixture.ts'
import { messages as rulesMessages } from '../../rules/wire.ts'
import { minute, row, type StatsFixture, statsFixture } from '../../stats/test/fixture.ts'
import type { QuotaRow } from '../schema.ts'
import { capability, messages, TrafficQuotaUpdate } from '../wire.ts'

export const plugins = ['users', 'clients', 'rules', 'stats', 'quota']

export const supportingAgent: Partial<Script> = {
  capabilities: { [capability.id]: capability.since },
  messages: [...rulesMessages, ...statsMessages, ...messages],
  responses: [
    ...ruleResponses,
    scriptedResponse(TrafficQuotaUpdate, ({ user_id, revision }) => ({ user_id, revision }))
  ]
}

export const refusal = (status: number, code: string) => ({ status, body: { error: { code } } })

export interface QuotaFixture extends StatsFixture {
  readonly clientId: string
  readonly agent: ScriptedAgent
  readonly ann: { readonly authorization: string }
  readonly ruleId: string // of ann
  put(body: object, user?: string): Promise<Reply<QuotaRow & ErrorReply>>
  patch(body: object): Promise<Reply<QuotaRow & ErrorReply>>
  status(): Promise<QuotaRow>
  /** Reports `bytes` as the total of ann's rule in the first minute of the test. */
  use(bytes: number, seq: number): Promise<unknown>
  updates(): readonly Readonly<Record<string, unknown>>[]
}

export async function quotaFixture(t: Test, options: TestServerOptions = {}): Promise<QuotaFixture> {
  const on = await statsFixture(t, { plugins, ...options })
  const clientId = await on.enroll()
  const agent = await on.connected(clientId, supportingAgent)
  const ann = await on.user('ann')
  const { body } = await on.push({ client: clientId, owner: 'ann' })
  const path = (user: string): string => `/v1/users/${user}/quotas/${clientId}`
  return {
    ...on,
    clientId,
    agent,
    ann,
    ruleId: body.rule_id,
    put: (body, user = 'ann') => on.call('PUT', path(user), body),
    patch: body => on.call('PATCH', path('ann'), body),
    status: async () => (await on.call<QuotaRow>('GET', `${path('ann')}/status`)).body,
    use: (bytes, seq) =>
      on.report(agent, { seq, rows: [row(body.rule_id, 'minute', minute, { bytes_in: bytes })] }),
    updates: () =>
      agent.received.flatMap(({ name, body }) => (name === TrafficQuotaUpdate.name ? [body] : []))
  }
}
