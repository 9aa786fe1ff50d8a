// A server with the plugin in this process, and real receivers of its messages.
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { EntityManager } from '@mikro-orm/sql'
import type { Test } from 'tap'
import type { TestServerOptions } from '../../../kit/test-server.ts'
import { type RulesFixture, rulesFixture } from '../../rules/test/fixture.ts'
import type { WorkDeps } from '../periodic-work.ts'
import type { ChannelRow, NotificationRow } from '../schema.ts'

export const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

export interface ReceivedRequest {
  readonly method: string
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly path: string
}

export interface Receiver {
  readonly url: string
  readonly port: number
  readonly received: readonly ReceivedRequest[]
  /** Sets the response of later requests: a status, or a function. Default: 200. */
  answer(behavior: number | ((response: ServerResponse) => void)): void
  /** Resolves with request number `count`, starting at 1. */
  until(count: number): Promise<ReceivedRequest>
}

/** Opens an HTTP server on loopback that records its requests. */
export async function openReceiver(t: Pick<Test, 'teardown'>): Promise<Receiver> {
  const received: ReceivedRequest[] = []
  const waiting = new Set<() => void>()
  let behavior: number | ((response: ServerResponse) => void) = 200
  const server = createServer(async (request, response) => {
    const { method = '', headers, url: path = '' } = request
    received.push({ method, headers, text: await text(request), path })
    for (const check of waiting) check()
    if (typeof behavior === 'function') behavior(response)
    else response.writeHead(behavior, { ...(behavior === 302 && { location: '/elsewhere' }) }).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    received,
    answer(next) {
      behavior = next
    },
    until: count =>
      new Promise(resolve => {
        const check = (): void => {
          const found = received[count - 1]
          if (!found) return
          waiting.delete(check)
          resolve(found)
        }
        waiting.add(check)
        check()
      })
  }
}

/** Writes a secret to a file that only its owner may read. Returns the path. */
export function secretFile(t: Pick<Test, 'teardown'>, content = secret, mode = 0o600): string {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-secret-'))
  t.teardown(() => rmSync(dir, { recursive: true }))
  const file = join(dir, 'secret')
  writeFileSync(file, `${content}\nnot the secret\n`, { mode })
  return file
}

export interface NotifyFixture extends RulesFixture {
  readonly deps: WorkDeps
  notifications(headers?: Readonly<Record<string, string>>): Promise<NotificationRow[]>
  channels(): Promise<ChannelRow[]>
  /** Raises an event, as a plugin does. */
  raise(event: { kind?: string; object: string; name?: string; owner?: string | null }): Promise<void>
  change<T>(work: (em: EntityManager) => Promise<T>): Promise<T>
  /** Resolves when the row of a channel `fits`. */
  settled(fits: (row: ChannelRow) => boolean): Promise<ChannelRow>
}

export async function notifyFixture(
  t: Test,
  { section = {}, ...options }: TestServerOptions & { readonly section?: object } = {}
): Promise<NotifyFixture> {
  const app = await rulesFixture(t, {
    plugins: ['users', 'clients', 'rules', 'notify'],
    sections: { notify: section },
    ...options
  })
  const deps = () => app.server.depsOf('notify') as unknown as WorkDeps // the plugin's container
  const channels = async () => (await app.call<ChannelRow[]>('GET', '/v1/notifications/channels')).body
  return {
    ...app,
    get server() {
      return app.server
    },
    get deps() {
      return deps()
    },
    channels,
    notifications: async headers =>
      (await app.call<NotificationRow[]>('GET', '/v1/notifications', undefined, headers)).body,
    change: work => deps().store.change(work),
    raise: ({ kind = 'expires_soon', object, name = object, owner = null }) =>
      deps().store.change(em => deps().objects.raise({ kind, object, name, owner }, em)),
    async settled(fits) {
      for (let tries = 0; tries < 5_000; tries++) {
        const found = (await channels()).find(fits)
        if (found) return found
        await new Promise(resolve => setImmediate(resolve))
      }
      throw new Error(`no channel fits: ${JSON.stringify(await channels())}`)
    }
  }
}
