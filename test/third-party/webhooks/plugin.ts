import {
  asFunction,
  connectionSlot,
  definePlugin,
  type Kernel,
  metricsSlot,
  quota,
  rules
} from 'sluice/plugin'
import { commands } from './commands.ts'
import { type Courier, openCourier } from './courier.ts'
import { type Desk, deadLetterNotFound, openDesk, webhookNotDelivered, webhookNotFound } from './desk.ts'
import { Delivery } from './entities.ts'
import { openFigures } from './figures.ts'
import { Webhooks0001 } from './migrations/0001-delivery.ts'
import { type Outbox, openOutbox } from './outbox.ts'
import { routes } from './routes.ts'
import { config } from './settings.ts'
import { openTellers, type Tellers } from './tellers.ts'

interface Deps extends Kernel<typeof config> {
  readonly outbox: Outbox
  readonly tellers: Tellers
  readonly courier: Courier
  readonly desk: Desk
}

export default definePlugin<Deps>({
  name: 'webhooks',
  version: '1.0.0',
  kernel: '^1.0.0',
  needs: { clients: '^1.0.0', rules: '^1.0.0', quota: '^1.0.0' },
  config,
  codes: [webhookNotFound, webhookNotDelivered, deadLetterNotFound],
  store: { entities: [Delivery], migrations: [{ name: '0001-delivery', class: Webhooks0001 }] },
  services: {
    outbox: asFunction(openOutbox).singleton(),
    tellers: asFunction(openTellers).singleton(),
    courier: asFunction(openCourier).singleton(),
    desk: asFunction(openDesk).singleton()
  },
  fills: [
    connectionSlot.fillWith(({ tellers }: Deps) => tellers.connection),
    rules.stateSlot.fillWith(({ tellers }: Deps) => tellers.state),
    quota.levelSlot.fillWith(({ tellers }: Deps) => tellers.level),
    metricsSlot.fillWith(openFigures)
  ],
  routes,
  commands,
  async start({ deps: { courier, tellers, clock }, defer }) {
    await courier.start(process.env)
    defer(tellers.written)
    defer(courier.stop)
    defer(clock.every(courier.lookMs, courier.look))
  }
})
