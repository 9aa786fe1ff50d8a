// A server in this process with the plugin, and somebody who is told.
import type { Test } from 'tap'
import { offerPublicModules } from '../../../../config/external/import.ts'
import type { Plugin } from '../../../../kernel/plugin.ts'
import type { FakeClock } from '../../../../kit/fake-clock.ts'
import type { TestServer } from '../../../../kit/test-server.ts'
import { type RulesFixture, rulesFixture } from '../../../../plugins/rules/test/fixture.ts'
import type { DeadRow, EndpointRow } from '../schema.ts'
import { type Receiver, receiver } from './receiver.ts'

offerPublicModules()
export const { default: plugin } = (await import('../plugin.ts')) as { default: Plugin } // after the line above

export const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
export const plugins = ['users', 'clients', 'rules', 'stats', 'quota']

export interface World extends RulesFixture {
  readonly hook: Receiver
  /** One look of the courier, and what follows of it until `fits` of the endpoint's row. */
  settled(fits: (row: EndpointRow) => boolean): Promise<EndpointRow>
  dead(): Promise<DeadRow[]>
}

export interface Given {
  readonly endpoint?: object
  readonly dir?: string
  readonly clock?: FakeClock
  readonly hook?: Receiver
}

const variable = 'HOOK_SECRET_OF_THE_TESTS'
process.env[variable] = secret

/** The section of endpoints that are told everything, each as `more` has it. */
export const sectionOf = (hook: Receiver, ...more: readonly object[]): object => ({
  endpoints: more.map(part => ({ ...endpointOf(hook), ...part }))
})

export const endpointOf = ({ url }: Receiver) => ({
  name: 'ops',
  url,
  secret_env: variable,
  allow_private: true
})

export async function world(t: Test, { endpoint = {}, ...given }: Given = {}): Promise<World> {
  const hook = given.hook ?? (await receiver(t))
  const home = await rulesFixture(t, {
    plugins: [...plugins, plugin],
    sections: { webhooks: sectionOf(hook, endpoint) },
    ...given
  })
  const { call } = home
  return {
    ...home,
    hook,
    async settled(fits) {
      for (let tries = 0; tries < 5_000; tries++) {
        const { body } = await call<EndpointRow[]>('GET', '/v1/webhooks')
        const found = body.find(fits)
        if (found) return found
        await new Promise(resolve => setImmediate(resolve))
      }
      throw new Error('it never came to this')
    },
    dead: async () => (await call<DeadRow[]>('GET', '/v1/webhooks/dead-letters')).body
  }
}

/** What the service does on its own, put in by hand: an event in a transaction. */
export function event({ server }: Pick<TestServer, 'server'>, rule = 'rule-1'): Promise<void> {
  const { store, outbox } = server.depsOf('webhooks') as unknown as Inner // the plugin's own container
  const data = { rule_id: rule }
  return store.change(em => outbox.put({ name: 'rule.failed', at: 0, data }, em))
}

interface Inner {
  readonly store: { change(work: (em: unknown) => Promise<void>): Promise<void> }
  readonly outbox: { put(event: object, em: unknown): Promise<void> }
}
