// A rule with the fields of the built-in plugins, on a client with an agent that changes open rules.
import type { Test } from 'tap'
import type { Script } from '../../../kit/scripted-agent.ts'
import type { TestServerOptions } from '../../../kit/test-server.ts'
import { field as healthCheck } from '../../multi-target/field.ts'
import { targetsCapability } from '../../multi-target/wire.ts'
import { capability as range } from '../../port-range/wire.ts'
import { capability as limits } from '../../rate-limit/wire.ts'
import { sniPattern } from '../../sni/fields.ts'
import type { RuleRecord } from '../api/rule-record.ts'
import { updateCapability } from '../wire.ts'
import { type ErrorReply, rulesFixture } from './fixture.ts'

export const plugins = [
  'users',
  'clients',
  'rules',
  'port-range',
  'multi-target',
  'sni',
  'rate-limit',
  'grants'
]

const all = [
  limits,
  healthCheck.capability,
  targetsCapability,
  range,
  sniPattern.capability,
  updateCapability
]

export const editable = {
  capabilities: Object.fromEntries(all.map(({ id, since }) => [id, since]))
}

/** `made` is the body of the rule; null: there is none yet. */
export async function patchFixture(
  t: Test,
  made: object | null = {},
  script: Partial<Script> = {},
  options: TestServerOptions = {}
) {
  const app = await rulesFixture(t, { plugins, ...options })
  const clientId = await app.enroll()
  const agent = await app.connect(clientId, { ...editable, ...script })
  const id = made ? (await app.push(made)).body.rule_id : ''
  const patch = (body: object, query = '', headers: Record<string, string> = {}) =>
    app.call<RuleRecord & ErrorReply>('PATCH', `/v1/rules/${id}${query}`, body, headers)
  return { app, clientId, agent, id, patch }
}
