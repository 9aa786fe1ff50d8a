// One server closes messages and delivers them: to each channel one at a time, to all channels in parallel.

import { stackOf } from '../../kernel/base/errors.ts'
import { newId } from '../../kernel/platform/id.ts'
import type { Kernel } from '../../kernel/plugin.ts'
import { type Channel, channelsIn } from './channel.ts'
import type { Outcome } from './channels/outgoing.ts'
import type { Send } from './channels/send.ts'
import { type Deliveries, readerFor } from './deliveries.ts'
import { type NotifyDelivery, NotifyMessage } from './entities.ts'
import type { KindRegistry } from './kind-registry.ts'
import type { Messages } from './messages.ts'
import type { Results } from './results.ts'
import type { config } from './settings.ts'

export interface Dispatcher {
  /** Closes messages that are due, and starts deliveries that are due. Call it on one server. */
  round(): Promise<void>
  /** Sends a test to a channel now. */
  test(channel: Channel): Promise<Outcome>
  channels(): readonly Channel[]
  /** Interrupts running attempts and waits for them. */
  stop(): Promise<void>
}

export interface DispatcherDeps extends Pick<Kernel<typeof config>, 'config' | 'store' | 'clock' | 'log'> {
  readonly messages: Messages
  readonly deliveries: Deliveries
  readonly kindRegistry: KindRegistry
  readonly results: Results
  readonly send: Send
}

export function openDispatcher(deps: DispatcherDeps): Dispatcher {
  const { config, store, log, messages, deliveries, results } = deps
  const running = new Map<string, Promise<void>>() // by channel
  const stopping = new AbortController()
  const channels = (): readonly Channel[] => channelsIn(config)
  const { attempt, reportFailure } = openAttempts(deps, stopping.signal)

  async function closeDue(): Promise<void> {
    const current = channels()
    const isDue = await store.read(async em => (await messages.findDue(em)).length > 0)
    if (!isDue) return
    await store.change(async em => {
      for (const message of await messages.findDue(em)) {
        await messages.close(message, em)
        await deliveries.enqueue(message, current, em)
      }
    })
  }

  /** Delivers until nothing is due. */
  async function deliverDue(channel: Channel): Promise<void> {
    while (!stopping.signal.aborted && (await store.read(em => deliveries.hasDue(channel.name, em)))) {
      const delivery = await store.change(em => deliveries.claim(channel.name, em))
      if (!delivery) return
      const outcome = await attempt(channel, delivery)
      const isGivenUp = await store.change(em => deliveries.record(delivery, outcome, em))
      if (outcome.result === 'delivered') results.count(channel.name, 'delivered')
      if (isGivenUp) await reportFailure(delivery, outcome)
    }
  }

  async function round(): Promise<void> {
    await closeDue()
    for (const channel of channels()) {
      if (running.has(channel.name)) continue
      const logFailed = (error: unknown): void =>
        log.warn('notify.round_failed', `deliveries to ${channel.name} are retried: ${stackOf(error)}`, {
          channel: channel.name
        })
      const work = deliverDue(channel)
        .catch(logFailed)
        .finally(() => running.delete(channel.name))
      running.set(channel.name, work)
    }
  }

  return {
    round,
    test: channel => sendTest(channel, deps, stopping.signal),
    channels,
    async stop() {
      stopping.abort()
      await Promise.all(running.values())
    }
  }
}

/** One try of a delivery, and what is reported if it was the last one. */
function openAttempts(
  { store, log, messages, kindRegistry, results, send }: DispatcherDeps,
  stop: AbortSignal
) {
  async function attempt(channel: Channel, { message: id }: NotifyDelivery): Promise<Outcome> {
    const content = await store.read(async em => {
      const found = await em.find(NotifyMessage, { id })
      const reader = await readerFor(channel.user, em)
      return reader && (await messages.load(found, reader, em)).get(id)
    })
    if (!content) return { result: 'failed', status: null, error: 'the user of the channel may not see it' }
    return send(channel, kindRegistry.describe(content), stop)
  }

  async function reportFailure({ message, channel }: NotifyDelivery, { error }: Outcome): Promise<void> {
    results.count(channel, 'failed')
    const found = await store.read(em => em.findOne(NotifyMessage, { id: message }))
    const fields = { channel, kind: found?.kind ?? null, error }
    log.error('notify.failed', `a notification was not delivered to ${channel}, and is given up`, fields)
  }

  return { attempt, reportFailure }
}

async function sendTest(
  channel: Channel,
  { store, clock, deliveries, send }: DispatcherDeps,
  stop: AbortSignal
): Promise<Outcome> {
  const at = clock.now()
  const text = `This is a test of the channel ${channel.name}.`
  const message = { id: newId(at), kind: 'test', at, count: 1, names: [], title: 'sluice: test', text }
  const outcome = await send(channel, { ...message, isUrgent: false }, stop)
  await store.change(em => deliveries.recordTest(channel.name, outcome, em))
  return outcome
}
