import type { Test } from 'tap'
import { Type } from 'typebox'
import { defineCode, Fault } from '../../../kernel/base/errors.ts'
import { defineRoute } from '../../../kernel/http/route.ts'
import { Credential, User } from '../../../kernel/identity/entities.ts'
import { hashOf } from '../../../kernel/identity/secret.ts'
import { definePlugin, type Kernel } from '../../../kernel/plugin.ts'
import { type TestServer, type TestServerOptions, testServer } from '../../../kit/test-server.ts'
import type { EntryRow, Page } from '../schema.ts'

const refused = defineCode('thing_refused', 409, 5)

export interface AuditFixture extends TestServer {
  /** Returns the headers of the superadmin root, or of the plain user ann. */
  as(user: 'root' | 'ann'): { readonly authorization: string }
  entries(query?: string): Promise<readonly EntryRow[]>
  page(query: string): Promise<Page>
}

/** A server with the test plugin. */
export async function auditFixture(
  t: Test,
  { answer = Promise.resolve(), ...options }: TestServerOptions & { readonly answer?: Promise<void> } = {}
): Promise<AuditFixture> {
  const plugins = ['audit', testPlugin(answer), ...(options.plugins ?? [])]
  const app = await testServer(t, { ...options, plugins })
  await app.server.depsOf('audit').store.change(async em => {
    for (const [id, role] of [['root', 'superadmin'] as const, ['ann', 'user'] as const]) {
      if ((await em.count(User, { id })) > 0) continue
      await em.insert(User, { id, displayName: id, role, disabled: false, createdAt: 0 })
      const row = { id: `credential-${id}`, userId: id, label: '', tokenHash: hashOf(`token-${id}`) }
      await em.insert(Credential, { ...row, createdAt: 0, lastUsedAt: app.clock.now() })
    }
  })
  return {
    ...app,
    as: user => ({ authorization: `Bearer token-${user}` }),
    entries: async (query = '') => (await app.call<EntryRow[]>('GET', `/v1/audit${query}`)).body,
    page: async query => (await app.call<Page>('GET', `/v1/audit?${query}`)).body
  }
}

/** Matches exactly these entries; `t.match` would accept a longer list. */
export function matchAll(t: Test, found: readonly EntryRow[], wanted: readonly object[]): void {
  t.equal(found.length, wanted.length)
  t.match(found, wanted)
}

/** A plugin with three routes: one makes a change, one refuses, and one waits for `answer`. */
function testPlugin(answer: Promise<void>) {
  const resourceOf = (id: string) => ({ kind: 'thing', id, name: () => `the-${id}` })
  const shared = { method: 'POST', access: 'user', status: 201, summary: 'For a test.' } as const
  const schema = () => ({ reply: Type.Object({}) })
  return definePlugin({
    name: 'thing',
    version: '1.0.0',
    kernel: '^2.0.0',
    codes: [refused],
    routes: [
      defineRoute({
        ...shared,
        url: '/v1/things/:id',
        action: 'thing.make',
        schema: () => ({ ...schema(), params: Type.Object({ id: Type.String() }) }),
        run: (_: Kernel, { params: { id }, change }) =>
          change(resourceOf(id), async em => {
            await em.insert(User, { id, displayName: id, role: 'user', disabled: false, createdAt: 0 })
            return {}
          })
      }),
      defineRoute({
        ...shared,
        url: '/v1/refused',
        action: 'thing.refuse',
        schema,
        async run(_: Kernel) {
          throw new Fault(refused, 'not today')
        }
      }),
      defineRoute({
        ...shared,
        url: '/v1/waiting',
        action: 'thing.wait',
        outcome: 'deferred',
        schema,
        async run(_: Kernel, { change }) {
          await change(resourceOf('w'), async () => {})
          await answer
          return {}
        }
      })
    ]
  })
}
