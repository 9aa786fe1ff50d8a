// A server with rules, and clients with scripted agents.
import type { Test } from 'tap'
import { newId } from '../../../kernel/base/id.ts'
import { Client, Credential, ManagedObjectRow, User } from '../../../kernel/identity/entities.ts'
import { hashOf } from '../../../kernel/identity/secret.ts'
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
import type { RuleRecord } from '../record.ts'
import type { RulesService } from '../rules.ts'
import { messages, RulePush, RuleRemove } from '../wire.ts'

export type Deps = Kernel & { readonly rules: RulesService }

export const rule = { client: 'edge', listen_port: 8080, targets: [{ host: '10.0.0.1', port: 80 }] }

export interface Answered {
  readonly error: {
    readonly code: string
    readonly message: string
    readonly details: Record<string, string>
  }
}

export interface RulesFixture extends TestServer {
  /** Enrolls a client that is not connected; its id. */
  enroll(name?: string): Promise<string>
  /** Connects the client's agent, which accepts every request unless `react` is set. */
  connect(clientId: string, script?: Partial<Script>): Promise<ScriptedAgent>
  push(body?: object, query?: string): Promise<Reply<RuleRecord & Answered>>
  get(id: string): Promise<RuleRecord>
  /** The desired objects of the client, from the kernel's table. */
  held(clientId: string): Promise<{ id: string; revision: number; removal: 'drain' | 'cut' | null }[]>
  /** Creates a user with a token, after the onboarding; its Authorization header. */
  user(userId: string): Promise<{ authorization: string }>
}

export async function rulesFixture(t: Test, plan: TestServerOptions = {}): Promise<RulesFixture> {
  const home = await testServer(t, { plugins: ['users', 'clients', 'rules'], ...plan })
  const { store, control } = home.server.depsOf('clients')
  const { clock } = home

  return {
    ...home,
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
        responses: answers,
        ...script
      }),
    push: (body = {}, query = '') => home.call('POST', `/v1/rules${query}`, { ...rule, ...body }),
    get: async id => (await home.call<RuleRecord>('GET', `/v1/rules/${id}`)).body,
    held: clientId =>
      store.read(async em => {
        const rows = await em.find(ManagedObjectRow, { clientId }, { orderBy: { revision: 'asc' } })
        return rows.map(({ id, revision, removal }) => ({ id, revision, removal: removal ?? null }))
      }),
    async user(userId) {
      const token = `svct_${userId}`
      const now = clock.now()
      const made = { disabled: false, createdAt: now }
      await store.change(async em => {
        await em.upsert(User, { id: 'root', displayName: 'root', role: 'superadmin', ...made })
        await em.insert(User, { id: userId, displayName: userId, role: 'user', ...made })
        const credential = { userId, label: '', tokenHash: hashOf(token), createdAt: now }
        await em.insert(Credential, { id: newId(now), ...credential })
      })
      return { authorization: `Bearer ${token}` }
    }
  }
}

export const answers = [
  scriptedResponse(RulePush, ({ rule_id, revision }) => ({ rule_id, revision })),
  scriptedResponse(RuleRemove, ({ rule_id, revision }) => ({ rule_id, revision }))
]

export const inventoryRowOf = (
  asked: ReceivedMessage,
  state: InventoryRow['state'] = 'applied'
): InventoryRow => ({
  kind: 'rule',
  id: String(asked.body['rule_id']),
  revision: Number(asked.body['revision']),
  ...(state && { state })
})

/** Returns the reactions one after another; the last one repeats. */
export function inOrder(...reactions: readonly Reaction[]): () => Reaction {
  let next = 0
  return () => reactions[Math.min(next++, reactions.length - 1)] ?? 'take'
}

/** Polls until `fits` accepts the value. */
export async function until<T>(look: () => Promise<T>, fits: (seen: T) => boolean): Promise<T> {
  for (let tries = 0; ; tries++) {
    const seen = await look()
    if (fits(seen)) return seen
    if (tries > 2000) throw new Error(`never came: ${JSON.stringify(seen)}`)
    await new Promise(resolve => setImmediate(resolve))
  }
}
