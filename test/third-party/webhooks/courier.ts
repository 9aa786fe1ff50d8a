// Takes what waits to its endpoints: one at a time and in order to each, all endpoints beside one another.
import { type Kernel, newId } from 'sluice/plugin'
import { type Endpoint, readEndpoints } from './endpoints.ts'
import { bodyOf, type Outbox } from './outbox.ts'
import { type Outcome, openPost } from './post.ts'
import type { config } from './settings.ts'

interface Services extends Pick<Kernel<typeof config>, 'config' | 'clock' | 'log'> {
  readonly outbox: Outbox
}

const lookMs = 1_000

export type Courier = ReturnType<typeof openCourier>

export function openCourier({ config, clock, log, outbox }: Services) {
  const post = openPost({ clock })
  const rounds = new Map<string, Promise<void>>()
  const stopping = new AbortController()
  const outcomes = new Map<string, number>()
  let endpoints: readonly Endpoint[] = []

  function look(): void {
    for (const endpoint of endpoints.filter(({ name }) => !rounds.has(name)))
      rounds.set(
        endpoint.name,
        round(endpoint)
          .catch(error => log.error('webhook.round_failed', String(error), { endpoint: endpoint.name }))
          .finally(() => rounds.delete(endpoint.name))
      )
  }

  /** Until nothing is due. What a stop cuts off counts as no attempt. */
  async function round(endpoint: Endpoint): Promise<void> {
    while (!stopping.signal.aborted) {
      const row = await outbox.due(endpoint.name)
      if (!row) return
      const outcome = await attempt(endpoint, row)
      if (outcome.is === 'failed' && stopping.signal.aborted) return
      await outbox.settle(row, outcome)
    }
  }

  async function attempt(endpoint: Endpoint, parcel: { id: string; body: string }): Promise<Outcome> {
    const outcome = await post(endpoint, parcel, stopping.signal)
    const key = `${endpoint.name} ${outcome.is}`
    outcomes.set(key, (outcomes.get(key) ?? 0) + 1)
    return outcome
  }

  /** At once, past whatever waits. */
  async function test(name: string): Promise<Outcome & { readonly id: string; readonly tookMs: number }> {
    const endpoint = endpoints.find(endpoint => endpoint.name === name)
    if (!endpoint) throw new TypeError(`${name} is no endpoint: it was to be looked up before`)
    const at = clock.now()
    const id = newId(at)
    const outcome = await attempt(endpoint, { id, body: bodyOf({ id, name: 'webhook.test', at, data: {} }) })
    return { ...outcome, id, tookMs: clock.now() - at }
  }

  async function start(env: Readonly<Record<string, string | undefined>>): Promise<void> {
    endpoints = readEndpoints(config, env)
    await outbox.start()
  }

  async function stop(): Promise<void> {
    stopping.abort()
    await Promise.all(rounds.values())
  }

  const count = (endpoint: string, is: Outcome['is']): number => outcomes.get(`${endpoint} ${is}`) ?? 0
  return { start, stop, test, look, lookMs, count }
}
