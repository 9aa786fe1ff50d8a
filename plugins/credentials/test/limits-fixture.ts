// A server with users of each role, and tokens with limits.
import type { Test } from 'tap'
import type { Role } from '../../../kernel/http/principal.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { type Reply, type TestServer, type TestServerOptions, testServer } from '../../../kit/test-server.ts'
import type { Users } from '../../users/exports.ts'

export interface Issued {
  readonly credential_id: string
  readonly token: string
}

export interface Row extends Issued {
  readonly scopes: readonly string[] | null
  readonly allowed_sources: readonly string[] | null
  readonly expires_at: string | null
  readonly last_used_from: string | null
}

interface Refused {
  readonly error: { readonly code: string; readonly details?: Readonly<Record<string, unknown>> }
}

type Headers = Readonly<Record<string, string>>

const roles = { root: 'superadmin', vic: 'viewer', ann: 'user', bob: 'user' } as const

export interface LimitsFixture extends TestServer {
  issue(userId: string, body?: object, as?: Headers): Promise<Reply<Issued & Refused>>
  /** Issues a token as the operator, and returns its header. */
  token(userId: string, body?: object): Promise<Headers>
  rotate(userId: string, id: string, as?: Headers): Promise<Reply<Issued & Refused>>
  row(userId: string, id: string): Promise<Row | undefined>
}

export const headersOf = ({ token }: Pick<Issued, 'token'>): Headers => ({ authorization: `Bearer ${token}` })

export const refusal = (status: number, code: string, details?: object) => ({
  status,
  body: { error: { code, ...(details && { details }) } }
})

export async function limitsFixture(t: Test, options: TestServerOptions = {}): Promise<LimitsFixture> {
  const app = await testServer(t, { plugins: ['users', 'auth', 'credentials', 'audit'], ...options })
  const { store, users } = app.server.depsOf('credentials') as Kernel & { readonly users: Users }
  await store.change(async em => {
    for (const [userId, role] of Object.entries(roles) as [string, Role][])
      await users.insert(em, { userId, displayName: userId, role })
  })
  const issue: LimitsFixture['issue'] = (userId, body = {}, as) =>
    app.call('POST', `/v1/users/${userId}/credentials`, body, as)
  return {
    ...app,
    get server() {
      return app.server
    },
    issue,
    async token(userId, body) {
      const reply = await issue(userId, body)
      t.equal(reply.status, 201, JSON.stringify(reply.body))
      return headersOf(reply.body)
    },
    rotate: (userId, id, as) => app.call('POST', `/v1/users/${userId}/credentials/${id}/rotate`, {}, as),
    async row(userId, id) {
      const { body } = await app.call<Row[]>('GET', `/v1/users/${userId}/credentials`)
      return body.find(row => row.credential_id === id)
    }
  }
}
