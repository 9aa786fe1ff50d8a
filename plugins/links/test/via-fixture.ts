// A server with links, and clients with scripted agents that can be on paths.
import type { Test } from 'tap'
import { objectMessages } from '../../../agent/wire/derived-object.ts'
import { fieldMessage } from '../../../agent/wire/rule-field.ts'
import { type Script, type ScriptedAgent, scriptedResponse } from '../../../kit/scripted-agent.ts'
import type { TestServerOptions } from '../../../kit/test-server.ts'
import { targetsCapability } from '../../multi-target/wire.ts'
import type { RuleRecord } from '../../rules/api/rule-record.ts'
import {
  type ErrorReply,
  type RulesFixture,
  ruleResponses,
  rulesFixture,
  until
} from '../../rules/test/fixture.ts'
import { messages, RulePush, RuleRemove, updateCapability } from '../../rules/wire.ts'
import { via } from '../fields.ts'
import { capability, type ExitPart, exitObject } from '../wire.ts'

export const plugins = [
  'users',
  'clients',
  'rules',
  'multi-target',
  'port-range',
  'groups',
  'labels',
  'cli',
  'advertised-endpoint',
  'doctor',
  'links'
]

export const { push: ExitPush, remove: ExitRemove } = objectMessages(exitObject)
export const ViaMessage = fieldMessage(via)

const capabilities = Object.fromEntries(
  [capability, targetsCapability, updateCapability].map(({ id, since }) => [id, since])
)

export const script: Partial<Script> = {
  capabilities,
  messages: [...messages, ViaMessage, ExitPush, ExitRemove, ExitPush.response],
  responses: [
    ...ruleResponses,
    scriptedResponse(ExitPush, ({ id, revision }) => ({ id, revision })),
    scriptedResponse(ExitRemove, ({ id, revision }) => ({ id, revision }))
  ]
}

export type ViaRule = RuleRecord & { readonly via: readonly string[] | null }

export interface ViaFixture extends RulesFixture {
  readonly ids: Readonly<Record<'edge' | 'relay' | 'exit' | 'other', string>>
  /** Connects the agent of a client; its messages are in order. */
  agent(name: keyof ViaFixture['ids'], more?: Partial<Script>): Promise<ScriptedAgent>
  close(agent: ScriptedAgent, clientId: string): Promise<void>
  patch(id: string, body: object, query?: string): Promise<{ status: number; body: ViaRule & ErrorReply }>
  /** Decodes what the push of a rule says about paths; null: nothing. */
  pathsIn(push: { readonly body: Readonly<Record<string, unknown>> }): unknown
}

/** The clients are enrolled, and not connected. */
export async function viaFixture(t: Test, options: TestServerOptions = {}): Promise<ViaFixture> {
  const app = await rulesFixture(t, { plugins, ...options })
  const ids = {
    edge: await app.enroll('edge'),
    relay: await app.enroll('relay'),
    exit: await app.enroll('exit'),
    other: await app.enroll('other')
  }
  for (const id of Object.values(ids)) await app.call('PATCH', `/v1/clients/${id}`, { link: {} })
  return {
    ...app,
    ids,
    agent: (name, more = {}) => app.connect(ids[name], { ...script, ...more }),
    async close(agent, clientId) {
      await agent.close()
      await until(
        async () => app.server.control.peers.find(clientId),
        peer => peer === undefined
      )
    },
    patch: (id, body, query = '') => app.call('PATCH', `/v1/rules/${id}${query}`, body),
    pathsIn({ body }) {
      const { via: bytes } = body['fields'] as Record<string, Uint8Array>
      return bytes ? app.server.depsOf('rules').codec.decode(ViaMessage, bytes).paths : null
    }
  }
}

/** Returns the names of the messages about rules and their parts. */
export const namesOf = ({ received }: Pick<ScriptedAgent, 'received'>): string[] =>
  received
    .map(({ name }) => name)
    .filter(name => [RulePush, RuleRemove, ExitPush, ExitRemove].some(one => one.name === name))

/** Returns the part in the message `n` of its kind, counted from 1. */
export const partAt = async (agent: ScriptedAgent, n = 1): Promise<ExitPart> =>
  (await agent.until(ExitPush.name, n)).body['body'] as ExitPart

/** Returns an error reply as `t.match` compares it. */
export const refusal = (status: number, code: string, details?: object) => ({
  status,
  body: { error: { code, ...(details && { details }) } }
})
