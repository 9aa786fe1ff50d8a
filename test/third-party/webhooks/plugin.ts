import {
  asFunction,
  connectionSlot,
  definePlugin,
  type Kernel,
  metricsSlot,
  quota,
  rules
} from 'sluice/plugin'
import { type Admin, deadLetterNotFound, openAdmin, webhookNotDelivered, webhookNotFound } from './admin.ts'
import { commands } from './commands.ts'
import { type Dispatcher, openDispatcher } from './dispatcher.ts'
import { Delivery } from './entities.ts'
import { type EventSources, openEventSources } from './event-sources.ts'
import { openMetrics } from './metrics.ts'
import { Webhooks0001 } from './migrations/0001-delivery.ts'
import { openQueue, type Queue } from './queue.ts'
import { routes } from './routes.ts'
import { config } from './settings.ts'

interface Deps extends Kernel<typeof config> {
  readonly queue: Queue
  readonly eventSources: EventSources
  readonly dispatcher: Dispatcher
  readonly admin: Admin
}

export default definePlugin<Deps>({
  name: 'webhooks',
  version: '1.0.0',
  kernel: '^2.0.0',
  needs: { clients: '^1.0.0', rules: '^1.0.0', quota: '^1.0.0' },
  config,
  codes: [webhookNotFound, webhookNotDelivered, deadLetterNotFound],
  store: { entities: [Delivery], migrations: [{ name: '0001-delivery', class: Webhooks0001 }] },
  services: {
    queue: asFunction(openQueue).singleton(),
    eventSources: asFunction(openEventSources).singleton(),
    dispatcher: asFunction(openDispatcher).singleton(),
    admin: asFunction(openAdmin).singleton()
  },
  fills: [
    connectionSlot.fillWith(({ eventSources }: Deps) => eventSources.connection),
    rules.stateSlot.fillWith(({ eventSources }: Deps) => eventSources.state),
    quota.levelSlot.fillWith(({ eventSources }: Deps) => eventSources.level),
    metricsSlot.fillWith(openMetrics)
  ],
  routes,
  commands,
  async start({ deps: { dispatcher, eventSources, clock }, defer }) {
    await dispatcher.start(process.env)
    defer(eventSources.flush)
    defer(dispatcher.stop)
    defer(clock.every(dispatcher.pollMs, dispatcher.poll))
  }
})
