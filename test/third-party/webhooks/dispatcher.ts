// Delivers waiting events, to each endpoint one at a time and in order, to all endpoints in parallel.
import { type Kernel, newId } from 'sluice/plugin'
import { type Endpoint, readEndpoints } from './endpoints.ts'
import { type Outcome, openPost } from './post.ts'
import { bodyOf, type Queue } from './queue.ts'
import type { config } from './settings.ts'

interface Services extends Pick<Kernel<typeof config>, 'config' | 'clock' | 'log'> {
  readonly queue: Queue
}

const pollMs = 1_000

export interface Dispatcher {
  /** Reads the secrets of the endpoints from files and `env`. */
  start(env: Readonly<Record<string, string | undefined>>): Promise<void>
  /** Interrupts running attempts and waits for them. */
  stop(): Promise<void>
  /** Sends a test event at once, before all waiting events. */
  test(name: string): Promise<Outcome & { readonly id: string; readonly tookMs: number }>
  /** Starts deliveries of due events. Call it every `pollMs`. */
  poll(): void
  readonly pollMs: number
  /** Returns the number of attempts with this result since the start. */
  count(endpoint: string, result: Outcome['result']): number
}

export function openDispatcher({ config, clock, log, queue }: Services): Dispatcher {
  const post = openPost({ clock })
  const running = new Map<string, Promise<void>>()
  const stopping = new AbortController()
  const outcomes = new Map<string, number>()
  let endpoints: readonly Endpoint[] = []

  function poll(): void {
    for (const endpoint of endpoints.filter(({ name }) => !running.has(name)))
      running.set(
        endpoint.name,
        deliverDue(endpoint)
          .catch(error => log.error('webhook.round_failed', String(error), { endpoint: endpoint.name }))
          .finally(() => running.delete(endpoint.name))
      )
  }

  /** Delivers until no event is due. Attempts interrupted by `stop` are neither recorded nor counted. */
  async function deliverDue(endpoint: Endpoint): Promise<void> {
    while (!stopping.signal.aborted) {
      const row = await queue.due(endpoint.name)
      if (!row) return
      const outcome = await attempt(endpoint, row)
      if (outcome.result === 'interrupted') return
      await queue.recordOutcome(row, outcome)
    }
  }

  async function attempt(endpoint: Endpoint, payload: { id: string; body: string }): Promise<Outcome> {
    const outcome = await post(endpoint, payload, stopping.signal)
    if (outcome.result === 'interrupted') return outcome
    const key = `${endpoint.name} ${outcome.result}`
    outcomes.set(key, (outcomes.get(key) ?? 0) + 1)
    return outcome
  }

  async function test(name: string): Promise<Outcome & { readonly id: string; readonly tookMs: number }> {
    const endpoint = endpoints.find(endpoint => endpoint.name === name)
    if (!endpoint) throw new TypeError(`${name} is not an endpoint; check with requireEndpoint first`)
    const at = clock.now()
    const id = newId(at)
    const outcome = await attempt(endpoint, { id, body: bodyOf({ id, name: 'webhook.test', at, data: {} }) })
    return { ...outcome, id, tookMs: clock.now() - at }
  }

  async function start(env: Readonly<Record<string, string | undefined>>): Promise<void> {
    endpoints = readEndpoints(config, env)
    await queue.start()
  }

  async function stop(): Promise<void> {
    stopping.abort()
    await Promise.all(running.values())
  }

  const count = (endpoint: string, result: Outcome['result']): number =>
    outcomes.get(`${endpoint} ${result}`) ?? 0
  return { start, stop, test, poll, pollMs, count }
}
