// The HTTP host alone, with a real store and a plugin of the test.
import type { Test } from 'tap'
import type { ErrorCode } from '../../../kernel/base/errors.ts'
import type { HttpHost } from '../../../kernel/http/host.ts'
import {
  type AuthenticatedCaller,
  authenticatorSlot,
  type RequestInfo
} from '../../../kernel/http/principal.ts'
import type { Route } from '../../../kernel/http/route.ts'
import { Credential, User } from '../../../kernel/identity/entities.ts'
import { openIdentity } from '../../../kernel/identity/identity.ts'
import { hashOf } from '../../../kernel/identity/secret.ts'
import { definePlugin, type Kernel } from '../../../kernel/plugin.ts'
import { slotReader } from '../../../kernel/slot.ts'
import { kernelStore } from '../../../kernel/store/kernel-store.ts'
import type { Database } from '../../../kernel/store/open.ts'
import { type FakeClock, fakeClock } from '../../../kit/fake-clock.ts'
import { decisionRecorder, type LogLine, recordLog } from '../../../kit/test-server.ts'
import { openStoreIn } from '../../../test/support/store.ts'
import { type Decision, openRecorder } from '../change/decision.ts'
import { openHttp } from '../http.ts'
import { openMountedPlugins } from '../mounted-plugins.ts'
import { openHttpMetrics } from '../pipeline/http-metrics.ts'
import httpPlugin from '../plugin.ts'
import { openServedCertificate } from '../server/served-certificate.ts'
import type { HttpOptions } from '../settings.ts'

export const operator = { authorization: 'Bearer operator-token' }
export const superadmin = { authorization: 'Bearer token-of-ada' }
export const user = { authorization: 'Bearer token-of-bob' }

export interface HttpFixture {
  readonly http: HttpHost
  readonly store: Database
  readonly clock: FakeClock
  readonly decisions: Decision[]
  readonly log: LogLine[]
  readonly dir: string
  send(method: string, url: string, headers?: object, payload?: unknown): Promise<Answer>
  close(): Promise<void>
}

export interface Answer {
  readonly status: number
  /** The body of the route, or an error. */
  readonly body: Record<string, unknown> & { readonly error: { readonly message: string } }
  readonly headers: Readonly<Record<string, string | string[] | number | undefined>>
}

interface Options extends Partial<HttpOptions> {
  readonly routes: readonly Route<Kernel>[]
  readonly codes?: readonly ErrorCode[]
  readonly session?: (requestInfo: RequestInfo) => AuthenticatedCaller | null
  readonly dir?: string
  readonly users?: 'none'
  readonly beside?: HttpFixture // another server of its store
}

export async function httpFixture(
  t: Test,
  { routes, codes = [], session = () => null, ...options }: Options
): Promise<HttpFixture> {
  const { beside, dir = t.testdir(), clock = fakeClock(), users, ...hostOptions } = options
  const decisions: Decision[] = []
  const log: LogLine[] = []
  const store = beside?.store ?? (await openStoreIn(t, dir, [kernelStore, httpPlugin]))
  const plugin = definePlugin({
    name: 'thing',
    version: '1.0.0',
    kernel: '^2.0.0',
    codes,
    routes,
    fills: [authenticatorSlot.fill(async requestInfo => session(requestInfo))]
  })
  const recordedBy = slotReader('http', [plugin, decisionRecorder(decisions)], () => ({}))
  const servedCertificate = openServedCertificate()
  const httpMetrics = openHttpMetrics({ servedCertificate })
  const http = await openHttp({
    listen: '127.0.0.1:0',
    tls: null,
    isKnownHost: () => true,
    publicOrigin: null,
    trustedProxies: [],
    store,
    clock,
    log: recordLog(log),
    filled: slotReader('kernel', [plugin, decisionRecorder(decisions)], () => ({})),
    identity: openIdentity({ store, clock, operatorToken: 'operator-token' }),
    version: '2.0.0',
    httpMetrics,
    servedCertificate,
    recorder: openRecorder({ filled: recordedBy, log: recordLog(log), httpMetrics }),
    nameRecords: async fault => fault,
    mountedPlugins: openMountedPlugins(),
    site: () => undefined,
    findTracer: () => undefined,
    ...hostOptions
  })
  if (users !== 'none' && !beside) await addUsers(store, clock.now())
  await http.mount(plugin, { filled: () => [], store } as unknown as Kernel) // only what the routes use
  let isOpen = true
  const close = async () => {
    if (!isOpen) return
    isOpen = false
    await http.close()
    if (!beside) await store.close()
  }
  t.teardown(close)
  return { http, store, clock: clock as FakeClock, decisions, log, dir, close, send: senderTo(http) }
}

const senderTo =
  ({ app }: HttpHost): HttpFixture['send'] =>
  async (method, url, headers = {}, payload) => {
    const reply = await app.inject({
      method: method as 'GET',
      url,
      headers: headers as Record<string, string>,
      ...(payload !== undefined && { payload: payload as object })
    })
    const body = reply.body === '' ? undefined : JSON.parse(reply.body)
    return { status: reply.statusCode, body, headers: reply.headers }
  }

/** Starts to listen and returns the port. */
export const portOf = async (http: HttpHost): Promise<number> =>
  Number(new URL((await http.listen()).origin).port)

/** Adds ada, a superadmin, and bob, who has the role user, each with a token. */
const addUsers = (store: Database, createdAt: number): Promise<void> =>
  store.change(async em => {
    for (const [id, role] of [
      ['ada', 'superadmin'],
      ['bob', 'user']
    ] as const) {
      await em.insert(User, { id, displayName: id, role, disabled: false, createdAt })
      await em.insert(Credential, {
        id: `credential-of-${id}`,
        userId: id,
        label: '',
        tokenHash: hashOf(`token-of-${id}`),
        createdAt
      })
    }
  })
