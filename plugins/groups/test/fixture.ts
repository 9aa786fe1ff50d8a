// A server with groups, and clients with scripted agents.
import type { Test } from 'tap'
import type { Script, ScriptedAgent } from '../../../kit/scripted-agent.ts'
import type { TestServerOptions } from '../../../kit/test-server.ts'
import type { RuleRecord } from '../../rules/api/rule-record.ts'
import type { Edge } from '../../rules/group-rules/edges.ts'
import { type ErrorReply, type RulesFixture, rulesFixture } from '../../rules/test/fixture.ts'
import { editable } from '../../rules/test/patch-fixture.ts'
import { schedule } from '../../schedule/fields.ts'

const plugins = [
  ...['users', 'clients', 'rules', 'port-range', 'multi-target', 'sni', 'rate-limit', 'grants', 'udp'],
  ...['labels', 'groups', 'stats', 'schedule', 'metrics']
]

export type GroupRule = RuleRecord & ErrorReply & { readonly edges: readonly Edge[] }

export interface Refused {
  readonly error: {
    readonly code: string
    readonly message: string
    readonly details: { readonly edges: readonly (Edge & { code: string; rule_id?: string })[] }
  }
}

export interface GroupsFixture extends RulesFixture {
  /** Enrolls a client with these labels; returns its id. */
  edge(name: string, labels?: Readonly<Record<string, string>>): Promise<string>
  label(clientId: string, labels: Readonly<Record<string, string | null>>): Promise<void>
  agent(clientId: string, script?: Partial<Script>): Promise<ScriptedAgent>
  /** Creates a group rule. */
  group(clients: object, more?: object): Promise<{ status: number; body: GroupRule; text: string }>
  read(id: string): Promise<GroupRule>
  states(id: string): Promise<Record<string, string>>
}

export async function groupsFixture(t: Test, options: TestServerOptions = {}): Promise<GroupsFixture> {
  const app = await rulesFixture(t, { plugins, ...options })
  const label: GroupsFixture['label'] = async (id, labels) => {
    const { status, text } = await app.call('PATCH', `/v1/clients/${id}`, { labels })
    if (status !== 200) throw new Error(text)
  }
  const { id, since } = schedule.capability
  const capabilities = { ...editable.capabilities, [id]: since }
  const read = async (id: string) => (await app.call<GroupRule>('GET', `/v1/rules/${id}`)).body
  return {
    ...app,
    label,
    read,
    async edge(name, labels) {
      const id = await app.enroll(name)
      if (labels) await label(id, labels)
      return id
    },
    agent: (id, script = {}) => app.connect(id, { capabilities, ...script }),
    group: (clients, more = {}) =>
      app.call<GroupRule>('POST', '/v1/rules', {
        clients,
        listen_port: 8080,
        targets: [{ host: '10.0.0.1', port: 80 }],
        ...more
      }),
    states: async id =>
      Object.fromEntries((await read(id)).edges.map(({ client_name, state }) => [client_name, state]))
  }
}
