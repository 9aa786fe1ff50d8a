// A server with rules, and clients with scripted agents.
import type { Test } from 'tap'
import { Client, Credential, ManagedObjectRow, User } from '../../../kernel/identity/entities.ts'
import { hashOf } from '../../../kernel/identity/secret.ts'
import { newId } from '../../../kernel/platform/id.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import {
  connectAgent,
  type InventoryRow,
  type Reaction,
  type ReceivedMessage,
  type Script,
  type ScriptedAgent,
  scriptedResponse
} from '../../../kit/scripted-agent.ts'
import { type Reply, type TestServer, type TestServerOptions, testServer } from '../../../kit/test-server.ts'
import type { RuleRecord } from '../api/rule-record.ts'
import type { RulesService } from '../rules.ts'
import { messages, RulePush, RuleRemove } from '../wire.ts'

export type Deps = Kernel & { readonly rules: RulesService }

export const rule = { client: 'edge', listen_port: 8080, targets: [{ host: '10.0.0.1', port: 80 }] }

export interface ErrorReply {
  readonly error: {
    readonly code: string
    readonly message: string
    readonly details: Record<string, string>
  }
}

export interface RulesFixture extends TestServer {
  /** Enrolls a client that is not connected, and returns its id. */
  enroll(name?: string): Promise<string>
  /** Connects the client's agent, which accepts every request unless `react` is set. */
  connect(clientId: string, script?: Partial<Script>): Promise<ScriptedAgent>
  push(body?: object, query?: string): Promise<Reply<RuleRecord & ErrorReply>>
  get(id: string): Promise<RuleRecord>
  /** The desired objects of the client, from the kernel's table. */
  objects(clientId: string): Promise<{ id: string; revision: number; removal: 'drain' | 'cut' | null }[]>
  /** Creates a user with a token, and a superadmin, so that onboarding is over. Returns the headers of the user. */
  user(userId: string): Promise<{ authorization: string }>
}

export async function rulesFixture(t: Test, options: TestServerOptions = {}): Promise<RulesFixture> {
  const app = await testServer(t, { plugins: ['users', 'clients', 'rules'], ...options })
  const { store, control } = app.server.depsOf('clients')
  const { clock } = app

  return {
    ...app,
    async enroll(name = 'edge') {
      const id = newId(clock.now())
      const row = { id, name, tokenHash: hashOf(id), revision: 0, enrolledAt: clock.now() }
      await store.change(em => em.insert(Client, row))
      return id
    },
    connect: (clientId, script = {}) =>
      connectAgent(t, {
        port: control.port(),
        fingerprint: control.fingerprint,
        token: clientId,
        messages,
        responses: ruleResponses,
        ...script
      }),
    push: (body = {}, query = '') => app.call('POST', `/v1/rules${query}`, { ...rule, ...body }),
    get: async id => (await app.call<RuleRecord>('GET', `/v1/rules/${id}`)).body,
    objects: clientId =>
      store.read(async em => {
        const rows = await em.find(ManagedObjectRow, { clientId }, { orderBy: { revision: 'asc' } })
        return rows.map(({ id, revision, removal }) => ({ id, revision, removal: removal ?? null }))
      }),
    async user(userId) {
      const token = `svct_${userId}`
      const now = clock.now()
      const common = { disabled: false, createdAt: now }
      await store.change(async em => {
        await em.upsert(User, { id: 'root', displayName: 'root', role: 'superadmin', ...common })
        await em.insert(User, { id: userId, displayName: userId, role: 'user', ...common })
        const credential = { userId, label: '', tokenHash: hashOf(token), createdAt: now }
        await em.insert(Credential, { id: newId(now), ...credential })
      })
      return { authorization: `Bearer ${token}` }
    }
  }
}

export const ruleResponses = [
  scriptedResponse(RulePush, ({ rule_id, revision }) => ({ rule_id, revision })),
  scriptedResponse(RuleRemove, ({ rule_id, revision }) => ({ rule_id, revision }))
]

export const inventoryRowOf = (
  push: ReceivedMessage,
  state: InventoryRow['state'] = 'applied'
): InventoryRow => ({
  kind: 'rule',
  id: String(push.body['rule_id']),
  revision: Number(push.body['revision']),
  ...(state && { state })
})

/** Returns the reactions one after another; the last one repeats. */
export function inOrder(...reactions: readonly Reaction[]): () => Reaction {
  let next = 0
  return () => reactions[Math.min(next++, reactions.length - 1)] ?? 'accept'
}

/** Reads a value until `isExpected` accepts it. */
export async function until<T>(read: () => Promise<T>, isExpected: (value: T) => boolean): Promise<T> {
  for (const begunAt = performance.now(); ; ) {
    const value = await read()
    if (isExpected(value)) return value
    if (performance.now() - begunAt > 20_000)
      throw new Error(`unexpected after 20 s: ${JSON.stringify(value)}`)
    await new Promise(resolve => setImmediate(resolve))
  }
}
