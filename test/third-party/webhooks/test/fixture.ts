// A server with the plugin in this process, and a receiver.
import type { Test } from 'tap'
import { offerPublicModules } from '../../../../kernel/platform/plugins/import-plugin.ts'
import type { Plugin } from '../../../../kernel/plugin.ts'
import type { FakeClock } from '../../../../kit/fake-clock.ts'
import type { TestServer } from '../../../../kit/test-server.ts'
import { type RulesFixture, rulesFixture } from '../../../../plugins/rules/test/fixture.ts'
import type { DeadRow, EndpointRow } from '../schema.ts'
import { openReceiver, type Receiver } from './receiver.ts'

offerPublicModules()
export const { default: plugin } = (await import('../plugin.ts')) as { default: Plugin } // needs the modules of the line above

export const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
export const plugins = ['users', 'clients', 'rules', 'stats', 'quota']

export interface WebhooksFixture extends RulesFixture {
  readonly hook: Receiver
  /** Resolves with the row of an endpoint that `fits`. */
  settled(fits: (row: EndpointRow) => boolean): Promise<EndpointRow>
  dead(): Promise<DeadRow[]>
}

export interface FixtureOptions {
  readonly endpoint?: object
  readonly dir?: string
  readonly clock?: FakeClock
  readonly hook?: Receiver
}

const variable = 'TEST_HOOK_SECRET'

/** Sets the environment variable of the endpoints in `sectionOf`. */
export function provideSecret(t: Pick<Test, 'teardown'>): void {
  process.env[variable] = secret
  t.teardown(() => delete process.env[variable])
}

/** Returns the plugin's section with one endpoint for each of `more`, which overrides its settings. */
export const sectionOf = (hook: Receiver, ...more: readonly object[]): object => ({
  endpoints: more.map(part => ({ ...endpointOf(hook), ...part }))
})

export const endpointOf = ({ url }: Receiver) => ({
  name: 'ops',
  url,
  secret_env: variable,
  allow_private: true
})

export async function webhooksFixture(
  t: Test,
  { endpoint = {}, ...given }: FixtureOptions = {}
): Promise<WebhooksFixture> {
  provideSecret(t)
  const hook = given.hook ?? (await openReceiver(t))
  const fixture = await rulesFixture(t, {
    plugins: [...plugins, plugin],
    sections: { webhooks: sectionOf(hook, endpoint) },
    ...given
  })
  const { call } = fixture
  return {
    ...fixture,
    hook,
    async settled(fits) {
      for (let tries = 0; tries < 5_000; tries++) {
        const { body } = await call<EndpointRow[]>('GET', '/v1/webhooks')
        const found = body.find(fits)
        if (found) return found
        await new Promise(resolve => setImmediate(resolve))
      }
      throw new Error('no endpoint fits')
    },
    dead: async () => (await call<DeadRow[]>('GET', '/v1/webhooks/dead-letters')).body
  }
}

/** Puts an event into the queue, like a slot function. */
export function putEvent({ server }: Pick<TestServer, 'server'>, rule = 'rule-1'): Promise<void> {
  const { store, queue } = server.depsOf('webhooks') as unknown as QueueServices // from the plugin's container
  const data = { rule_id: rule }
  return store.change(em => queue.put({ name: 'rule.failed', at: 0, data }, em))
}

interface QueueServices {
  readonly store: { change(work: (em: unknown) => Promise<void>): Promise<void> }
  readonly queue: { put(event: object, em: unknown): Promise<void> }
}
